/** Instants and durations as a test writes them, and the clock that it sets. */
import { CarillonError } from '@carillon/contract'
import { OffsetClock } from '../lib/clock.ts'
import { endOfTime } from './databases.ts'

/** ISO 8601 with a zone or offset, milliseconds since 1970, or a Date. */
export type InstantInput = string | number | Date
/** ISO 8601 (`PT6H`, `P1M`), `{ hours: 6 }`, or milliseconds. Days and months are those of UTC. */
export type DurationInput = string | number | DurationParts

export interface DurationParts {
  years?: number
  months?: number
  weeks?: number
  days?: number
  hours?: number
  minutes?: number
  seconds?: number
  milliseconds?: number
}

/** Ids hold the time in 48 bits, and a day before it must still be there to be kept. */
const earliest = Date.UTC(1970, 0, 3)

export function instantOf(value: InstantInput, pointer: string): number {
  const at = typeof value === 'string' ? parsed(value, pointer) : Number(value)
  if (!Number.isInteger(at)) {
    throw new CarillonError('VALIDATION', {
      pointer,
      message: `${String(value)} is not an instant`,
      hint: 'Give it as 2026-03-28T23:59:00Z, as a Date, or in milliseconds since 1970',
    })
  }
  if (at < earliest || at >= endOfTime) {
    throw new CarillonError('TIME_OUT_OF_RANGE', {
      pointer,
      message: 'must be after 1970-01-03 and before the year 4800',
    })
  }
  return at
}

export function instantAfter(now: number, duration: DurationInput): number {
  const at = typeof duration === 'number' ? now + duration : added(now, duration)
  if (!Number.isInteger(at)) throw notDuration(duration)
  if (at < now) {
    throw new CarillonError('VALIDATION', {
      pointer: '/duration',
      message: 'time does not run backwards',
      hint: 'Create another test Carillon for an earlier time',
    })
  }
  return instantOf(at, '/duration')
}

function parsed(text: string, pointer: string): number {
  try {
    return Temporal.Instant.from(text).epochMilliseconds
  } catch (cause) {
    const hint = 'Write it with its zone, such as 2026-03-28T23:59:00Z or 2026-03-29T01:59:00+02:00'
    throw new CarillonError('VALIDATION', { pointer, message: `"${text}" is not an instant`, hint }, { cause })
  }
}

function added(now: number, duration: string | Temporal.DurationLike): number {
  const zoned = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO('UTC')
  try {
    return zoned.add(Temporal.Duration.from(duration)).epochMilliseconds
  } catch (cause) {
    throw notDuration(duration, cause)
  }
}

function notDuration(duration: unknown, cause?: unknown): CarillonError {
  const shown = typeof duration === 'object' ? JSON.stringify(duration) : String(duration)
  const hint = "Write 'PT6H', { hours: 6 } or whole milliseconds"
  return new CarillonError(
    'VALIDATION',
    { pointer: '/duration', message: `${shown} is not a duration`, hint },
    { cause },
  )
}

/** Stands still until it is set. The database is told the same time with every statement: nothing is ahead of it. */
export class VirtualClock extends OffsetClock {
  override readonly aheadMs = 0
  #now: number

  constructor(now: number) {
    super()
    this.#now = now
  }

  override now(): number {
    return this.#now
  }

  set(now: number): void {
    this.#now = now
  }

  override measured(): void {}

  override get offsetMs(): number {
    return 0
  }
}
