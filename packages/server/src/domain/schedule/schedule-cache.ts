/**
 * One compiled schedule for all jobs with the same expression, zone and policy, least recently used out first. When
 * thousands of them fire in the same second they all ask for the occurrence after the same instant; the answer is
 * remembered.
 * [m] finding the schedule: 0.23 µs (compiling it: 40); an answer given before: 0.013 µs (a step: 0.2-0.5).
 */
import { compileSchedule, type Schedule, type ScheduleSpec } from './schedule.ts'

const schedulesKept = 4_096

const compiled = new Map<string, Schedule>()

/** As `compileSchedule`; throws what it throws, and remembers only what compiled. */
export function compileScheduleCached(spec: ScheduleSpec): Schedule {
  const key = keyOf(spec)
  if (key === null) return compileSchedule(spec)
  let schedule = compiled.get(key)
  if (schedule === undefined) {
    schedule = new RememberingSchedule(compileSchedule(spec))
    if (compiled.size >= schedulesKept) compiled.delete(compiled.keys().next().value!)
  } else {
    compiled.delete(key)
  }
  compiled.set(key, schedule)
  return schedule
}

/** Null: cheaper to make than to remember. */
function keyOf(spec: ScheduleSpec): string | null {
  if (spec.type === 'ONE_SHOT') return null
  const zone = `${spec.timezone}|${spec.dst.gap}|${spec.dst.overlap}`
  return spec.type === 'CRON'
    ? `CRON|${zone}|${spec.dayFields}|${spec.expression}`
    : `INTERVAL|${zone}|${spec.anchor}|${spec.interval}`
}

/** The last answer is enough, and two numbers in place are no garbage: a map of answers for each of many schedules was. */
class RememberingSchedule implements Schedule {
  readonly #schedule: Schedule
  #after = Number.NaN
  #next: number | null = null

  constructor(schedule: Schedule) {
    this.#schedule = schedule
  }

  next(after: number): number | null {
    if (after !== this.#after) {
      this.#next = this.#schedule.next(after)
      this.#after = after
    }
    return this.#next
  }

  count(after: number, until: number): number {
    return this.#schedule.count(after, until)
  }

  shortestDistance(after: number, limitMs: number): number {
    return this.#schedule.shortestDistance(after, limitMs)
  }
}
