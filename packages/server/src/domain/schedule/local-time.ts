/**
 * A wall-clock time without an offset, such as 2030-03-10T02:30:00: how a one-shot is requested that is to run at a
 * local time of its zone. The zone and the DST policy decide which instant that is, as for a cron.
 */
import { CarillonError, type DstPolicy } from '@carillon/contract'
import { zoneNamed } from './zone.ts'
import { instantsOf } from './zone-spans.ts'

const form = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?$/i

/** Whether a text is meant as a local time: a date and a time, and no offset. */
export function isLocalTime(text: unknown): text is string {
  return typeof text === 'string' && form.test(text)
}

/** As a wall clock (see civil.ts), or null if there is no such date or time. */
export function parseLocalTime(text: string): number | null {
  if (!form.test(text)) return null
  const wall = Date.parse(`${text}Z`)
  // Date.parse takes 30 February for 2 March, and 24:00 for the next day.
  return !Number.isNaN(wall) && new Date(wall).toISOString().slice(0, 16) === text.slice(0, 16).toUpperCase()
    ? wall
    : null
}

/** A wall clock as text, such as 2030-03-10T02:30:00. */
export function wallText(wall: number): string {
  return new Date(wall).toISOString().replace(/(\.000)?Z$/, '')
}

/** The one instant at which a wall clock happens. A time that comes twice must be told which one is meant. */
export function instantOfLocal(wall: number, timezone: string, dst: DstPolicy): number {
  if (dst.overlap === 'BOTH') {
    throw new CarillonError('VALIDATION', {
      pointer: '/dst/overlap',
      message: 'BOTH is for schedules: a one-shot runs once',
      hint: 'Use FIRST or SECOND',
    })
  }
  const [instant] = instantsOf(zoneNamed(timezone), wall, dst)
  if (instant !== undefined) return instant
  throw new CarillonError('SCHEDULE_NEVER_FIRES', {
    pointer: '/runAt',
    message: `the clocks of ${timezone} jump over this time, and dst.gap is SKIP`,
    hint: 'Give another time, or SHIFT',
  })
}
