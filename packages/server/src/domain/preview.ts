/** What a schedule is going to do, as people read it: each time on the clock of its zone, and what the clock does there. */
import { type ScheduleBounds, type ScheduleSpec, upcoming } from './schedule.ts'
import { compileScheduleCached } from './schedule-cache.ts'
import { type Zone, zoneNamed } from './zone.ts'

/**
 * SHIFTED: its wall-clock time does not exist that day, and it was moved. FIRST, SECOND: its wall-clock time exists twice
 * that day, and this is the first or the second.
 */
export type DstMark = 'SHIFTED' | 'FIRST' | 'SECOND'

export interface Fire {
  scheduledFor: number
  /** With the offset of that day, such as 2030-03-10T03:30:00-07:00. */
  local: string
  dst: DstMark | null
}

export type RecurringSpec = Exclude<ScheduleSpec, { type: 'ONE_SHOT' }>

/** The occurrences after `after`, at most `count`. */
export function preview(spec: RecurringSpec, bounds: ScheduleBounds, after: number, count: number): Fire[] {
  return fires(spec, upcoming(compileScheduleCached(spec), bounds, after, count))
}

/** These occurrences of a schedule. */
export function fires(spec: RecurringSpec, occurrences: readonly number[]): Fire[] {
  const zone = zoneNamed(spec.timezone)
  // What does not happen under SKIP happens under SHIFT only because it was moved. Counted within one instant, so that
  // nothing is searched for.
  const unmoved =
    spec.dst.gap === 'SHIFT' ? compileScheduleCached({ ...spec, dst: { ...spec.dst, gap: 'SKIP' } }) : null
  return occurrences.map((at) => {
    const moved = unmoved !== null && unmoved.count(at - 1, at) === 0
    return { scheduledFor: at, local: localTime(at, zone), dst: moved ? 'SHIFTED' : passOf(at, zone) }
  })
}

/** A single time in a zone. */
export function fireAt(at: number, timezone: string): Fire {
  const zone = zoneNamed(timezone)
  return { scheduledFor: at, local: localTime(at, zone), dst: passOf(at, zone) }
}

/** Which pass of an hour that the clock goes through twice. */
function passOf(at: number, zone: Zone): 'FIRST' | 'SECOND' | null {
  const { start, end, offset, before, after } = zone.segmentAt(at)
  if (at < start + (before - offset)) return 'SECOND'
  return at >= end - (offset - after) ? 'FIRST' : null
}

function localTime(at: number, zone: Zone): string {
  return Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone.id).toString({ timeZoneName: 'never' })
}
