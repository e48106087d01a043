/**
 * How close two occurrences of a schedule come where its clock is changed. Elsewhere the distance follows from the wall
 * clock alone; at a change a day has 23 hours, and a time moved out of a gap may land just before another one.
 */
import { dayMs } from './civil.ts'
import type { Schedule } from './schedule.ts'
import type { Zone } from './zone.ts'

/** Within twelve years a rule such as "the second Sunday in March" has fallen on each of its dates. */
const yearsLookedAt = 12

/**
 * The shortest distance between two neighbouring occurrences after `after` near a change of the clock, if it is at most
 * `limitMs`; otherwise some longer one, or Infinity.
 */
export function shortestNearChanges(schedule: Schedule, zone: Zone, after: number, limitMs: number): number {
  const end = after + yearsLookedAt * 366 * dayMs
  let shortest = Infinity
  for (let segment = zone.segmentAt(after); segment.end < end; segment = zone.segmentAt(segment.end)) {
    const reachMs = Math.abs(segment.after - segment.offset) + limitMs
    const until = segment.end + reachMs
    let previous = schedule.next(Math.max(after, segment.end - reachMs - 1))
    while (previous !== null && previous <= until) {
      const next = schedule.next(previous)
      if (next !== null) shortest = Math.min(shortest, next - previous)
      previous = next
    }
  }
  return shortest
}
