/**
 * Looks at the bytes of a JSON body as they arrive, so that what would be expensive to parse is refused before it is parsed,
 * and before the rest of it is read. The work is bounded by what has arrived: a few steps for each byte, a chunk at a time.
 * [m] 4 ns of CPU a byte, 41 where all of it is decimal fractions; 0.6 µs for a small job.
 *
 * It does not check that the body is JSON: JSON.parse does. Of what is not JSON it may count wrongly; that is refused anyway.
 */
import { CarillonError, isUsual } from '@carillon/contract'

export interface BodyBounds {
  maxBytes: number
  maxDepth: number
  /** Values and names of properties, together. */
  maxValues: number
}

const quote = 0x22
const backslash = 0x5c
/** No number that JSON.stringify writes is longer. */
const longestUsual = 32

export class BodyScanner {
  readonly #bounds: BodyBounds
  #inString = false
  #escaped = false
  #inNumber = false
  /** What earlier chunks had of the number. */
  #numberSoFar = ''
  #nesting = 0
  bytes = 0
  values = 0
  /** Whether every number so far is what JSON.stringify would write again. */
  numbersKept = true

  constructor(bounds: BodyBounds) {
    this.#bounds = bounds
  }

  /** Throws as soon as the body has more than it may. */
  push(chunk: Buffer): void {
    const { maxBytes, maxDepth, maxValues } = this.#bounds
    this.bytes += chunk.length
    if (this.bytes > maxBytes) throw bodyTooLarge(maxBytes)
    let inString = this.#inString
    let escaped = this.#escaped
    let inNumber = this.#inNumber
    let numberFrom = 0
    let nesting = this.#nesting
    let values = this.values
    for (let at = 0; at < chunk.length; at++) {
      const code = chunk[at]!
      if (inString) {
        if (escaped) escaped = false
        else if (code === backslash) escaped = true
        else if (code === quote) inString = false
        continue
      }
      if (inNumber) {
        if (isOfNumber(code)) continue
        inNumber = false
        this.#endNumber(chunk, numberFrom, at)
      }
      if (code === quote) {
        inString = true
        values++
      } else if (code === 0x5b || code === 0x7b) {
        values++
        if (++nesting > maxDepth) throw tooDeep(maxDepth)
      } else if (code === 0x5d || code === 0x7d) nesting--
      else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
        inNumber = true
        numberFrom = at
        values++
      } else if (code === 0x74 || code === 0x66 || code === 0x6e) values++ // true, false, null
      if (values > maxValues) throw tooMany(maxValues)
    }
    if (inNumber) this.#numberSoFar += latin1(chunk, numberFrom, Math.min(chunk.length, numberFrom + longestUsual + 1))
    this.#inString = inString
    this.#escaped = escaped
    this.#inNumber = inNumber
    this.#nesting = nesting
    this.values = values
  }

  #endNumber(chunk: Buffer, from: number, to: number): void {
    const before = this.#numberSoFar
    this.#numberSoFar = ''
    if (!this.numbersKept) return
    const length = before.length + to - from
    // Fast path: most numbers are short integers.
    if (length < 16 && before === '' && isShortWhole(chunk, from, to)) return
    this.numbersKept = length <= longestUsual && isUsual(before + latin1(chunk, from, to))
  }
}

function latin1(chunk: Buffer, from: number, to: number): string {
  return chunk.toString('latin1', from, to)
}

function isOfNumber(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) || code === 0x2e || code === 0x2d || code === 0x2b || code === 0x65 || code === 0x45
  )
}

function isShortWhole(chunk: Buffer, from: number, to: number): boolean {
  if (chunk[from] === 0x2d) return false
  for (let at = from; at < to; at++) if (chunk[at]! < 0x30 || chunk[at]! > 0x39) return false
  return true
}

export function bodyTooLarge(maxBytes: number): CarillonError {
  return new CarillonError('BODY_TOO_LARGE', {
    message: `the body has more than the ${maxBytes} bytes allowed here`,
    hint: 'Send fewer at a time; store large data elsewhere and pass a reference to it',
  })
}

function tooDeep(maxDepth: number): CarillonError {
  return new CarillonError('VALIDATION', {
    pointer: '',
    message: `is nested more than ${maxDepth} deep`,
    hint: 'Send data that is nested less deep',
  })
}

function tooMany(maxValues: number): CarillonError {
  return new CarillonError('BODY_TOO_LARGE', {
    message: `the body has more than the ${maxValues} names and values allowed here`,
    hint: 'Send fewer at a time',
  })
}
