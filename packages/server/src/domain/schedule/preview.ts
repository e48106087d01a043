/** The coming fires of a schedule for people: local times, and the effect of clock changes on them. */
import type { ClockChangeEffect } from '@carillon/contract'
import { CronMatcher } from './cron-matcher.ts'
import { CalendarInterval } from './interval.ts'
import { parseDuration } from './interval-duration.ts'
import { wallText } from './local-time.ts'
import { type ScheduleBounds, type ScheduleSpec, upcoming } from './schedule.ts'
import { compileScheduleCached } from './schedule-cache.ts'
import { type Segment, type Zone, zoneNamed } from './zone.ts'

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

/** What a change of the clock does to times that the schedule names. */
export interface ClockChange {
  at: number
  effect: ClockChangeEffect
  /** The first of these times on the clock of the zone, such as 2030-03-10T02:30:00. */
  local: string
  /** How many such times there are. */
  count: number
}

export interface Preview {
  fires: Fire[]
  clockChanges: ClockChange[]
}

export type RecurringSpec = Exclude<ScheduleSpec, { type: 'ONE_SHOT' }>

/** Clocks are changed a few times a year; what lies further ahead is not looked at. */
const changesLookedAt = 1_000

/** The occurrences after `after`, at most `count`. */
export function preview(spec: RecurringSpec, bounds: ScheduleBounds, after: number, count: number): Preview {
  const occurrences = upcoming(compileScheduleCached(spec), bounds, after, count)
  const from = bounds.startAt === null ? after : Math.max(after, bounds.startAt - 1)
  return { fires: fires(spec, occurrences), clockChanges: clockChanges(spec, from, occurrences.at(-1) ?? from) }
}

/** These occurrences of a schedule. */
export function fires(spec: RecurringSpec, occurrences: readonly number[]): Fire[] {
  const zone = zoneNamed(spec.timezone)
  // What does not happen under SKIP happens under SHIFT only because it was moved. Counted within one instant, so that
  // nothing is searched for.
  const unmoved = spec.dst.gap === 'SHIFT' ? compileScheduleCached(skipping(spec)) : null
  return occurrences.map((at) => {
    const moved = unmoved !== null && unmoved.count(at - 1, at) === 0
    return { scheduledFor: at, local: localTime(at, zone), dst: moved ? 'SHIFTED' : passOf(at, zone) }
  })
}

/** A single time in a zone; `wall` is the wall clock it was asked for by. */
export function fireAt(at: number, timezone: string, wall: number | null = null): Fire {
  const zone = zoneNamed(timezone)
  const moved = wall !== null && zone.wallClock(at) !== wall
  return { scheduledFor: at, local: localTime(at, zone), dst: moved ? 'SHIFTED' : passOf(at, zone) }
}

/** What the changes of the clock after one instant and up to another do to a schedule, in order. */
export function clockChanges(spec: RecurringSpec, after: number, until: number): ClockChange[] {
  const named = namedTimes(spec)
  if (named === null) return []
  const zone = zoneNamed(spec.timezone)
  const found: ClockChange[] = []
  let segment = zone.segmentAt(after)
  for (let seen = 0; seen < changesLookedAt && segment.end <= until; seen++) {
    found.push(...effectsOf(spec, named, segment))
    segment = zone.segmentAt(segment.end)
  }
  return found
}

/** Of the change at the end of this segment. */
function effectsOf(spec: RecurringSpec, named: NamedTimes, { end: at, offset, after }: Segment): ClockChange[] {
  const jumpMs = after - offset
  const [from, to] = jumpMs > 0 ? [at + offset, at + after] : [at + after, at + offset]
  const count = named.count(from - 1, to - 1)
  if (count === 0) return []
  const local = wallText(named.first(from - 1, to - 1)!)
  if (jumpMs < 0) return [{ at, effect: named.elapsed ? 'BOTH' : spec.dst.overlap, local, count }]
  if (named.elapsed || spec.dst.gap === 'SKIP') return [{ at, effect: 'SKIPPED', local, count }]
  const firesIn = (shown: RecurringSpec) => compileScheduleCached(shown).count(at - 1, at + jumpMs - 1)
  const shifted = named.displaced ? count : firesIn(spec) - firesIn(skipping(spec))
  const effects = [
    { at, effect: 'SHIFTED', local, count: shifted },
    { at, effect: 'MERGED', local, count: count - shifted },
  ] as const
  return effects.filter((effect) => effect.count > 0)
}

/** The wall-clock times that a schedule names, whatever the clock of the zone does with them. */
interface NamedTimes {
  count(after: number, until: number): number
  first(after: number, until: number): number | null
  /** Follows elapsed time: the policy does not apply. */
  elapsed: boolean
  /** Elapsed time is added after the wall clock: a fire need not be near the time that was named. */
  displaced: boolean
}

/** Null: none, it is elapsed time only. */
function namedTimes(spec: RecurringSpec): NamedTimes | null {
  if (spec.type === 'CRON') {
    const matcher = new CronMatcher(spec.expression, spec.dayFields)
    return {
      count: (after, until) => matcher.count(after, until),
      first: (after, until) => matcher.next(after, until),
      elapsed: matcher.followsElapsedTime,
      displaced: false,
    }
  }
  const { months, days, timeMs } = parseDuration(spec.interval)
  if (months === 0 && days === 0) return null
  const anchor = zoneNamed(spec.timezone).wallClock(spec.anchor)
  const walls = new CalendarInterval(anchor, { months, days, timeMs: 0 }, zoneNamed('UTC'), spec.dst)
  return {
    count: (after, until) => walls.count(after, until),
    first: (after) => walls.next(after),
    elapsed: false,
    displaced: timeMs > 0,
  }
}

function skipping(spec: RecurringSpec): RecurringSpec {
  return { ...spec, dst: { ...spec.dst, gap: 'SKIP' } }
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
