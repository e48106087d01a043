/**
 * The text of a field whose value is a filter in the address. What the address says comes into the field, except for what was sent from
 * here: on a slow page that arrives while the reader types on, and must not replace what was typed since.
 */
import { useCallback, useState } from 'react'

type Value = string | undefined

export interface TypedFilter {
  text: string
  write: (text: string) => void
  /** Makes the text, trimmed, the value in the address, if it is not already on its way there. */
  send: () => void
}

export function useTypedFilter(value: Value, set: (value: Value) => void): TypedFilter {
  const [text, write] = useState(value ?? '')
  const [known, know] = useState(value)
  // Sent, oldest first, and not in the address yet.
  const [sent, keep] = useState<readonly Value[]>([])
  if (known !== value) {
    const at = sent.indexOf(value)
    know(value)
    keep(at < 0 ? [] : sent.slice(at + 1))
    if (at < 0) write(value ?? '')
  }
  const wanted = text.trim() === '' ? undefined : text.trim()
  const latest = sent.length > 0 ? sent.at(-1) : value
  const send = useCallback(() => {
    if (wanted === latest) return
    keep((before) => [...before, wanted])
    set(wanted)
  }, [wanted, latest, set])
  return { text, write, send }
}
