import { useState } from 'react'
import { Button } from './button.tsx'

/** Puts a text on the clipboard. A page that came without TLS has no clipboard of its own; the old command works there. */
export function CopyButton({ text, name }: { text: string; name: string }) {
  const [isDone, done] = useState(false)
  const copy = async () => {
    if (navigator.clipboard) await navigator.clipboard.writeText(text)
    else copyOldWay(text)
    done(true)
  }
  return (
    <Button kind="quiet" className="min-h-6! px-1.5! py-0!" aria-label={`Copy ${name}`} onClick={() => void copy()}>
      <span aria-live="polite">{isDone ? 'Copied' : 'Copy'}</span>
    </Button>
  )
}

function copyOldWay(text: string): void {
  const field = document.createElement('textarea')
  field.value = text
  const place = document.querySelector('dialog[open]') ?? document.body
  place.append(field)
  field.select()
  document.execCommand('copy')
  field.remove()
}
