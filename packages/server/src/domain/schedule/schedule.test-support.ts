/** What the tests of schedules share: times written as text, and a cron's next fires as text. */
import type { DayFields, DstPolicy } from '@carillon/contract'
import { compileSchedule, type Schedule, type ScheduleSpec, unbounded, upcoming } from './schedule.ts'

export const shiftFirst: DstPolicy = { gap: 'SHIFT', overlap: 'FIRST' }

export const everyPolicy: DstPolicy[] = (['SHIFT', 'SKIP'] as const).flatMap((gap) =>
  (['FIRST', 'SECOND', 'BOTH'] as const).map((overlap) => ({ gap, overlap })),
)

export function instant(text: string): number {
  return Temporal.Instant.from(text).epochMilliseconds
}

/** `2025-03-09T03:30-04:00`: the wall clock and the offset in force. */
export function localText(at: number, zone: string): string {
  return Temporal.Instant.fromEpochMilliseconds(at)
    .toZonedDateTimeISO(zone)
    .toString({ smallestUnit: 'minute', timeZoneName: 'never' })
}

export function cron(
  expression: string,
  timezone = 'UTC',
  dst: DstPolicy = shiftFirst,
  dayFields: DayFields = 'EITHER',
): Schedule {
  return compileSchedule({ type: 'CRON', expression, timezone, dst, dayFields })
}

export function interval(text: string, anchor: string, timezone = 'UTC', dst: DstPolicy = shiftFirst): Schedule {
  return compileSchedule({ type: 'INTERVAL', interval: text, anchor: instant(anchor), timezone, dst })
}

/** The next fires after an instant, as local times. */
export function fires(schedule: Schedule, after: string, count: number, zone = 'UTC'): string[] {
  return upcoming(schedule, unbounded, instant(after), count).map((at) => localText(at, zone))
}

/** The same in UTC, by date only. */
export function dates(schedule: Schedule, after: string, count: number): string[] {
  return fires(schedule, after, count).map((text) => text.slice(0, 10))
}

export function compiling(spec: ScheduleSpec): () => Schedule {
  return () => compileSchedule(spec)
}
