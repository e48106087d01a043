/**
 * The times that can be scheduled: the years 1970 to 9999. Every instant that leaves this folder lies in this range,
 * so that it fits a PostgreSQL timestamptz, an ISO 8601 string with four-digit year and an exact integer.
 */
import { CarillonError } from '@carillon/contract'

export const earliestInstant = 0
export const latestInstant = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

export function checkInstant(instant: number, pointer: string): void {
  if (Number.isInteger(instant) && instant >= earliestInstant && instant <= latestInstant) return
  throw new CarillonError('TIME_OUT_OF_RANGE', {
    pointer,
    message: `${describe(instant)} is outside the years 1970 to 9999`,
    hint: 'Give a time between 1970-01-01T00:00:00Z and 9999-12-31T23:59:59.999Z',
  })
}

function describe(instant: number): string {
  const date = new Date(instant)
  return Number.isNaN(date.getTime()) ? String(instant) : date.toISOString()
}
