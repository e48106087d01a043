/**
 * JSON that is passed on as it was written. A JavaScript number has room for about 16 digits; an id of 19 digits, a decimal
 * with trailing zeros or 1e400 would come back as another number. Where a text has such a number, it is kept as text.
 */

const quote = 0x22
const backslash = 0x5c

/** A JSON value as its text, without the whitespace between its parts. `encodeJson` takes it for the value. */
export class JsonText {
  readonly text: string
  /** How many arrays and objects are inside each other. */
  readonly depth: number

  /** The text must be JSON. */
  constructor(written: string) {
    const { text, depth } = compact(written)
    this.text = text
    this.depth = depth
  }
}

/**
 * What JSON.parse and JSON.stringify do to the numbers of a JSON text: nothing, or some are written otherwise, or one is too
 * large for JavaScript to hold at all.
 */
export function numbersIn(text: string): 'KEPT' | 'CHANGED' | 'INFINITE' {
  let verdict: 'KEPT' | 'CHANGED' = 'KEPT'
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at) - 1
    else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      const end = endOfNumber(text, at)
      const number = text.slice(at, end)
      if (!isUsual(number)) {
        if (!Number.isFinite(Number(number))) return 'INFINITE'
        verdict = 'CHANGED'
      }
      at = end - 1
    }
  }
  return verdict
}

/** Whether JSON.stringify would write the number like this. */
export function isUsual(number: string): boolean {
  return (number.length < 16 && /^-?[1-9]\d*$/.test(number)) || String(Number(number)) === number
}

/** Where the string ends that begins at the place: after its closing quote, or at the end of the text. */
export function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) return at + 1
    if (code === backslash) at++
  }
  return text.length
}

function endOfNumber(text: string, start: number): number {
  let at = start + 1
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    const goesOn = (code >= 0x30 && code <= 0x39) || code === 0x2e || code === 0x2b || code === 0x2d
    if (!goesOn && code !== 0x65 && code !== 0x45) break
  }
  return at
}

function compact(written: string): { text: string; depth: number } {
  const parts: string[] = []
  let from = 0
  let inside = 0
  let depth = 0
  for (let at = 0; at < written.length; at++) {
    const code = written.charCodeAt(at)
    if (code === quote) at = endOfString(written, at) - 1
    else if (code === 0x5b || code === 0x7b) depth = Math.max(depth, ++inside)
    else if (code === 0x5d || code === 0x7d) inside--
    else if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) {
      if (from < at) parts.push(written.slice(from, at))
      from = at + 1
    }
  }
  if (from === 0) return { text: written, depth }
  parts.push(written.slice(from))
  return { text: parts.join(''), depth }
}
