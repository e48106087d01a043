import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react'

const shape =
  'w-full min-w-0 rounded-md border border-line bg-panel px-2.5 py-1 text-ink placeholder:text-soft aria-invalid:border-bad'

/** A label, its control, what it is for and what is wrong with it. */
export function Field({
  label,
  about,
  problem,
  children,
}: {
  label: string
  about?: ReactNode
  problem?: string | undefined
  children: (ids: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true }) => ReactNode
}) {
  const id = useId()
  const described = problem !== undefined || about !== undefined
  return (
    <div className="min-w-0">
      <label htmlFor={id} className="mb-1 block font-medium">
        {label}
      </label>
      {children({
        id,
        ...(described && { 'aria-describedby': `${id}-about` }),
        ...(problem !== undefined && { 'aria-invalid': true as const }),
      })}
      {described && (
        <p id={`${id}-about`} className={`mt-1 ${problem === undefined ? 'text-soft' : 'text-bad'}`}>
          {problem ?? about}
        </p>
      )}
    </div>
  )
}

export function Input({ className = '', ...rest }: InputHTMLAttributes<HTMLInputElement>) {
  return <input className={`${shape} h-8.5 ${className}`} {...rest} />
}

export function Select({ className = '', ...rest }: SelectHTMLAttributes<HTMLSelectElement>) {
  return <select className={`${shape} h-8.5 pr-7 ${className}`} {...rest} />
}

/** Several lines, of code unless said otherwise. */
export function TextArea({ className = '', ...rest }: TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return <textarea spellCheck={false} className={`${shape} block font-mono text-[13px] ${className}`} {...rest} />
}
