/** Checks of single fields, gathered so that a caller learns of every mistake at once. */
import { CarillonError, type ErrorDetail, fieldOf, unknownOption } from '@carillon/contract'
import { isLocalTime, parseLocalTime } from '../domain/schedule/local-time.ts'

/** Year 10000: beyond it neither ISO 8601 nor PostgreSQL's text form stays simple. */
const endOfTime = Date.UTC(10_000, 0, 1)

export class Problems {
  readonly #details: ErrorDetail[] = []

  add(pointer: string, message: string, hint?: string): void {
    this.#details.push({ pointer, message, hint })
  }

  /** Runs a check that throws a CarillonError and keeps its details with the others. */
  try<T>(check: () => T): T | null {
    try {
      return check()
    } catch (error) {
      if (!(error instanceof CarillonError) || error.code !== 'VALIDATION') throw error
      this.#details.push(...error.errors)
      return null
    }
  }

  throwIfAny(): void {
    if (this.#details.length > 0) throw this.error()
  }

  error(): CarillonError {
    return new CarillonError('VALIDATION', this.#details)
  }

  text(pointer: string, value: unknown, maxLength: number): void {
    if (typeof value !== 'string' || value === '')
      this.add(pointer, `${fieldOf(pointer)} must be a text that is not empty`)
    else if (value.length > maxLength) this.add(pointer, `${fieldOf(pointer)} is longer than ${maxLength} characters`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
    else if (/[\u0000-\u001f\u007f]/.test(value))
      this.add(pointer, `${fieldOf(pointer)} has a control character`, 'Remove it; put such data into the payload')
    else if (!value.isWellFormed())
      this.add(pointer, `${fieldOf(pointer)} has a lone surrogate`, 'Send well-formed Unicode')
  }

  integer(pointer: string, value: unknown, range: { min: number; max: number }): void {
    if (value === undefined) return
    if (!Number.isSafeInteger(value) || (value as number) < range.min || (value as number) > range.max) {
      this.add(pointer, `${fieldOf(pointer)} ${String(value)} is not a whole number from ${range.min} to ${range.max}`)
    }
  }

  number(pointer: string, value: unknown, range: { min: number; max: number }): void {
    if (value === undefined) return
    if (typeof value !== 'number' || !(value >= range.min && value <= range.max)) {
      this.add(pointer, `${fieldOf(pointer)} ${String(value)} is not a number from ${range.min} to ${range.max}`)
    }
  }

  oneOf<T extends string>(pointer: string, value: unknown, allowed: readonly T[]): void {
    if (value === undefined || (allowed as readonly unknown[]).includes(value)) return
    this.add(pointer, `${fieldOf(pointer)} ${String(value)} is not known`, `Use one of ${allowed.join(', ')}`)
  }

  /** An instant as milliseconds; text must be ISO 8601 with an offset. */
  instant(pointer: string, value: string | number | Date | undefined): number | null {
    if (value === undefined) return null
    const ms = value instanceof Date ? value.getTime() : typeof value === 'number' ? value : parseInstant(value)
    if (ms === null || !Number.isFinite(ms)) {
      this.add(
        pointer,
        `${String(value)} is not an instant`,
        'Use ISO 8601 with an offset, such as 2030-01-31T08:00:00Z',
      )
      return null
    }
    const whole = Math.round(ms)
    if (whole < 0 || whole >= endOfTime) {
      throw new CarillonError('TIME_OUT_OF_RANGE', {
        pointer,
        message: `${String(value)} is outside the years 1970 to 9999`,
        hint: 'Use an earlier time',
      })
    }
    return whole
  }

  /** A time without an offset as a wall clock of the zone beside it; null if it is something else. */
  localTime(pointer: string, value: unknown, timezone: string | undefined): number | null {
    if (!isLocalTime(value)) return null
    const wall = parseLocalTime(value)
    if (wall === null) this.add(pointer, `${value} is no time of the calendar`)
    else if (timezone === undefined) {
      const hint = 'Add one, such as Z or +02:00; or give the timezone in whose clock it is meant'
      this.add(pointer, `${value} has no offset`, hint)
    }
    // Something is returned, so that it is not looked at as an instant too.
    return wall ?? 0
  }

  /** True if it is there to look into. */
  object(pointer: string, value: unknown): value is object {
    if (value === undefined) return false
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return true
    this.add(pointer, `${fieldOf(pointer)} must be an object`)
    return false
  }

  /** The entries of a list, or none if there is no list. */
  list(pointer: string, value: unknown): unknown[] {
    if (value === undefined) return []
    if (Array.isArray(value)) return value
    this.add(pointer, `${fieldOf(pointer)} must be an array`)
    return []
  }

  /** Unknown names, each with the one that was probably meant. */
  unknown(pointer: string, value: object, known: readonly string[]): void {
    for (const name of Object.keys(value)) {
      if (!known.includes(name)) this.#details.push(unknownOption(name, known, pointer))
    }
  }

  labels(pointer: string, value: Record<string, string> | undefined, max: number): void {
    if (!this.object(pointer, value)) return
    const entries = Object.entries(value)
    if (entries.length > max) this.add(pointer, `${fieldOf(pointer)} has ${entries.length} entries`, `At most ${max}`)
    for (const [name, text] of entries) {
      this.text(`${pointer}/${name}`, name, 63)
      this.text(`${pointer}/${name}`, text, 255)
    }
  }
}

function parseInstant(text: string): number | null {
  const day = /^[+-]?\d{4,6}-\d\d-(\d\d)T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/i.exec(text)?.[1]
  const ms = day === undefined ? Number.NaN : Date.parse(text)
  if (Number.isNaN(ms)) return null
  // Date.parse takes 30 February for 2 March.
  const date = new Date(`${text.slice(0, text.search(/T/i))}T00:00:00Z`)
  return date.getUTCDate() === Number(day) ? ms : null
}
