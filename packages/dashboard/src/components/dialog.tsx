/** A modal on the browser's own dialog: focus stays in it, Escape closes it, and what is behind is inert. */
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { Button } from './button.tsx'

export function Dialog({
  title,
  onClose,
  children,
  wide = false,
}: {
  title: string
  onClose: () => void
  children: ReactNode
  wide?: boolean
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useEffect(() => {
    const shown = dialog.current!
    shown.showModal()
    // React focuses an element with autoFocus before the dialog is open, when nothing in it can take the focus.
    shown.querySelector<HTMLElement>('[data-focus-first]')?.focus()
    return () => shown.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      className={`w-[calc(100vw-2rem)] ${wide ? 'max-w-3xl' : 'max-w-lg'} max-h-[calc(100dvh-2rem)] overflow-y-auto rounded-lg border border-line bg-panel p-0 text-left whitespace-normal shadow-xl`}
    >
      <div className="flex items-center justify-between gap-4 border-b border-line px-4 py-2.5">
        <h2 id={heading} className="font-semibold">
          {title}
        </h2>
        <Button kind="quiet" aria-label="Close" onClick={onClose}>
          ✕
        </Button>
      </div>
      <div className="p-4">{children}</div>
    </dialog>
  )
}

/** Asks before something is done that cannot be undone. The children say what it will touch. */
export function Confirm({
  title,
  action,
  keep = 'Keep it',
  isHarmless = false,
  busy = false,
  error,
  onConfirm,
  onClose,
  children,
}: {
  title: string
  action: string
  /** The words of the button that changes nothing. */
  keep?: string
  /** Nothing is lost by it: the action has the colour of one that is meant to be taken. */
  isHarmless?: boolean
  busy?: boolean
  error?: Error | null
  onConfirm: () => void
  onClose: () => void
  children: ReactNode
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      {error && (
        <p className="mt-3 text-bad" role="alert">
          {error.message}
        </p>
      )}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>{keep}</Button>
        <Button kind={isHarmless ? 'main' : 'danger'} disabled={busy} onClick={onConfirm}>
          {action}
        </Button>
      </div>
    </Dialog>
  )
}
