/** Steps through JSON text without making values of it: where the members of an object and the items of a list begin and end. */
import { endOfString } from '@carillon/contract'

/** The text is not JSON, at this place. */
export class NotJson extends Error {
  readonly at: number

  constructor(at: number) {
    super(`is not JSON near position ${at}`)
    this.at = at
  }
}

export interface Part {
  start: number
  /** After its last character. */
  end: number
}

export interface Member extends Part {
  name: string
}

/** After any whitespace. */
export function skipSpace(text: string, at: number): number {
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) break
  }
  return at
}

/** After the value that begins here. What is inside is not checked. */
export function skipValue(text: string, start: number): number {
  const first = text.charCodeAt(start)
  if (first === 0x22) return endOfString(text, start)
  let nesting = 0
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x22) at = endOfString(text, at) - 1
    else if (code === 0x5b || code === 0x7b) nesting++
    else if (code === 0x5d || code === 0x7d) {
      if (nesting === 0) return at
      if (--nesting === 0) return at + 1
    } else if (nesting === 0 && (code === 0x2c || code <= 0x20)) return at
  }
  return text.length
}

/** The members of the object that begins at `start`, in order. */
export function* membersOf(text: string, start: number): Generator<Member> {
  let at = skipSpace(text, start + 1)
  if (text[at] === '}') return
  for (;;) {
    if (text[at] !== '"') throw new NotJson(at)
    const afterName = endOfString(text, at)
    const name = parsePart(text, at, afterName) as string
    at = skipSpace(text, afterName)
    if (text[at] !== ':') throw new NotJson(at)
    const value = skipSpace(text, at + 1)
    const end = skipValue(text, value)
    yield { name, start: value, end }
    at = skipSpace(text, end)
    if (text[at] === '}') return
    if (text[at] !== ',') throw new NotJson(at)
    at = skipSpace(text, at + 1)
  }
}

/** The items of the list that begins at `start`, in order. */
export function* itemsOf(text: string, start: number): Generator<Part> {
  let at = skipSpace(text, start + 1)
  if (text[at] === ']') return
  for (;;) {
    const end = skipValue(text, at)
    if (end === at) throw new NotJson(at)
    yield { start: at, end }
    at = skipSpace(text, end)
    if (text[at] === ']') return
    if (text[at] !== ',') throw new NotJson(at)
    at = skipSpace(text, at + 1)
  }
}

export function parsePart(text: string, start: number, end: number): unknown {
  try {
    return JSON.parse(text.slice(start, end))
  } catch {
    throw new NotJson(start)
  }
}
