/**
 * The coming fires of many jobs in buckets: by minute for a day, by hour for 30 days, with the load they mean for each pool and the seconds
 * in which many fire together. Jobs that fire at the same times are counted once, whatever their number.
 *
 * What must stay true: a job fires here when its preview says so. The cost is bounded, whatever the schedules are: what would go beyond
 * it is left out, and counted.
 */
import { type Collision, CollisionCounter, type Sample } from './collisions.ts'
import type { RecurringSpec } from './preview.ts'
import { compileSchedule, countWithin, nextWithin, type Schedule, type ScheduleBounds } from './schedule.ts'

/** Jobs that fire at the same times. */
export interface ScheduleGroup {
  /** Null: they fire once. */
  spec: RecurringSpec | null
  bounds: ScheduleBounds
  /** The occurrence that is next to fire. */
  nominal: number
  jitterMs: number
  /** How often they may still fire; null: no limit. */
  left: number | null
  targets: { pool: string; handler: string; jobs: number }[]
  /** Some of them. */
  sample: Sample
}

/** Mean duration of attempts, in milliseconds; null: not known. */
export type MeanDuration = (pool: string, handler: string) => number | null

export interface Buckets {
  fires: Int32Array
  /** Milliseconds of work. */
  workMs: Float64Array
}

export type Step = 'MINUTE' | 'HOUR'

export const stepMs = { MINUTE: 60_000, HOUR: 3_600_000 } as const
/** Somewhat more than a day and 30 days: it is used for some minutes after it was computed. */
const ahead = { MINUTE: 25 * 60, HOUR: 30 * 24 + 2 } as const
/** Fires of one group; one with more fires about every minute, or more often, and is counted by bucket. */
const mostTimes = 50_000
/** Steps from one occurrence to the next, of a cron or a calendar; [m] 0.2 to 4 µs each. */
const mostSteps = 5_000_000
/** A step of an interval of elapsed time is an addition: [m] 20 ns. */
const elapsedStep = 0.02
const mostCompiled = 5_000

export class ForecastTable {
  readonly now: number
  readonly #meanOf: MeanDuration
  readonly #base: Record<Step, number>
  readonly #end: number
  readonly #pools = new Map<string, Record<Step, Buckets>>()
  /** Null: finished. */
  #counter: CollisionCounter | null
  #collisions: Collision[] = []
  #steps = 0
  readonly #times = new Float64Array(4_096)
  readonly #compiled = new Map<string, Schedule>()
  /** Jobs that were computed, and that were left out. */
  jobs = 0
  leftOut = 0

  constructor(now: number, meanOf: MeanDuration) {
    this.now = Math.floor(now)
    this.#meanOf = meanOf
    this.#base = { MINUTE: floored(this.now, stepMs.MINUTE), HOUR: floored(this.now, stepMs.HOUR) }
    this.#end = this.#base.HOUR + ahead.HOUR * stepMs.HOUR
    this.#counter = new CollisionCounter(this.#base.HOUR, ahead.HOUR)
  }

  get pools(): IterableIterator<string> {
    return this.#pools.keys()
  }

  /** Mean duration of attempts in a pool; null: none were measured. */
  meanMs(pool: string): number | null {
    return this.#meanOf(pool, '')
  }

  /** `pause` is called between steps; what it answers is awaited unless it is null. */
  async add(group: ScheduleGroup, pause: () => Promise<void> | null = () => null): Promise<void> {
    const jobs = group.targets.reduce((sum, target) => sum + target.jobs, 0)
    const cost = this.#costOf(group)
    if (cost === null || this.#steps + cost.steps > mostSteps) {
      this.leftOut += jobs
      return
    }
    this.#steps += cost.steps
    this.jobs += jobs
    const targets = group.targets.map(({ pool, handler, jobs }) => this.#target(pool, handler, jobs))
    if (cost.fires > mostTimes) return this.#addByBucket(group, cost.schedule!, targets, pause)
    const counter = this.#counter!
    const number = counter.group(jobs, group.sample)
    for await (const count of this.#dueTimes(group, cost.schedule, pause)) {
      for (const target of targets) this.#addTimes(target, count)
      counter.add(number, this.#times, count)
    }
  }

  /** After the last group. What only the sums were needed for is let go. */
  async finish(pause: () => Promise<void> | null = () => null): Promise<void> {
    for (let hour = 0; hour < ahead.HOUR; hour++) {
      this.#collisions.push(...this.#counter!.inHour(hour))
      await pause()
    }
    this.#counter = null
    this.#compiled.clear()
  }

  /** From the bucket of `from` on, before `to`; those in which nothing fires are left out. */
  *buckets(
    pool: string,
    step: Step,
    { from, to }: TimeRange,
  ): Generator<{ at: number; fires: number; workMs: number }> {
    const { fires, workMs } = this.#pools.get(pool)![step]
    const first = Math.max(0, Math.floor((from - this.#base[step]) / stepMs[step]))
    for (let i = first; i < fires.length; i++) {
      const at = this.#base[step] + i * stepMs[step]
      if (at >= to) return
      if (fires[i]! > 0) yield { at, fires: fires[i]!, workMs: workMs[i]! }
    }
  }

  /** The seconds in which the most fire together, by time. */
  collisions({ from, to }: TimeRange, most: number): Collision[] {
    const within = this.#collisions.filter(({ at }) => at >= from && at < to)
    return within
      .sort((a, b) => b.fires - a.fires || a.at - b.at)
      .slice(0, most)
      .sort((a, b) => a.at - b.at)
  }

  /** Null: the schedule cannot be computed. */
  #costOf(group: ScheduleGroup): { schedule: Schedule | null; fires: number; steps: number } | null {
    const { spec, bounds, jitterMs, left } = group
    if (spec === null) return { schedule: null, fires: 1, steps: elapsedStep }
    try {
      const schedule = this.#compile(spec)
      const more = countWithin(schedule, bounds, this.#after(group), this.#end - jitterMs)
      const fires = Math.min(1 + more, left ?? Infinity)
      const perFire = schedule.periodMs === undefined ? 1 : elapsedStep
      const steps = fires > mostTimes ? ahead.MINUTE + ahead.HOUR : fires * perFire
      return { schedule, fires, steps: steps + 10 }
    } catch {
      return null
    }
  }

  /** Not in the cache of the scheduler, from which it would push out what fires next. */
  #compile(spec: RecurringSpec): Schedule {
    if (spec.type === 'INTERVAL') return compileSchedule(spec)
    const key = JSON.stringify(spec)
    const known = this.#compiled.get(key)
    if (known) return known
    const schedule = compileSchedule(spec)
    if (this.#compiled.size >= mostCompiled) this.#compiled.clear()
    this.#compiled.set(key, schedule)
    return schedule
  }

  /** What has passed is no fire to come, but for the one that waits to be fired. */
  #after({ nominal, jitterMs }: ScheduleGroup): number {
    return Math.max(nominal, this.now - jitterMs)
  }

  /** Puts the due times of a group into `#times`, as many at a time as there is room for, and answers how many. */
  async *#dueTimes(
    group: ScheduleGroup,
    schedule: Schedule | null,
    pause: () => Promise<void> | null,
  ): AsyncGenerator<number> {
    const { nominal, jitterMs, bounds } = group
    const times = this.#times
    const until = Math.min(this.#end - jitterMs, bounds.endAt === null ? Infinity : bounds.endAt + 1)
    const periodMs = schedule?.periodMs ?? null
    let left = (group.left ?? Infinity) - 1
    if (left < 0) return
    const first = Math.max(nominal + jitterMs, this.now)
    if (first >= this.#end) return
    times[0] = first
    let count = 1
    let next = schedule && nextWithin(schedule, bounds, this.#after(group))
    while (next !== null && next < until && left-- > 0) {
      times[count++] = next + jitterMs
      next = periodMs === null ? nextWithin(schedule!, bounds, next) : next + periodMs
      if (count < times.length) continue
      yield count
      count = 0
      await pause()
    }
    if (count > 0) yield count
    await pause()
  }

  /** Without a step for every occurrence, and without a part in collisions. */
  async #addByBucket(
    group: ScheduleGroup,
    schedule: Schedule,
    targets: Target[],
    pause: () => Promise<void> | null,
  ): Promise<void> {
    const { nominal, jitterMs, bounds } = group
    const after = this.#after(group)
    const first = Math.max(nominal + jitterMs, this.now)
    for (const step of ['MINUTE', 'HOUR'] as const) {
      let left = group.left ?? Infinity
      for (let i = 0; i < ahead[step]; i++) {
        const at = this.#base[step] + i * stepMs[step]
        const from = Math.max(after, at - jitterMs - 1)
        const isFirst = first >= at && first < at + stepMs[step] ? 1 : 0
        const count = isFirst + countWithin(schedule, bounds, from, at + stepMs[step] - jitterMs - 1)
        const taken = Math.min(count, left)
        left -= taken
        for (const { buckets, jobs, workMs } of targets) {
          buckets[step].fires[i]! += taken * jobs
          buckets[step].workMs[i]! += taken * workMs
        }
        if ((i & 63) === 0) await pause()
      }
    }
  }

  #target(pool: string, handler: string, jobs: number): Target {
    let buckets = this.#pools.get(pool)
    if (buckets === undefined) {
      buckets = { MINUTE: emptyBuckets(ahead.MINUTE), HOUR: emptyBuckets(ahead.HOUR) }
      this.#pools.set(pool, buckets)
    }
    return { buckets, jobs, workMs: jobs * (this.#meanOf(pool, handler) ?? 0) }
  }

  /** The first `count` of `#times`, in order. */
  #addTimes({ buckets: { MINUTE, HOUR }, jobs, workMs }: Target, count: number): void {
    const times = this.#times
    const minutesEnd = this.#base.MINUTE + ahead.MINUTE * stepMs.MINUTE
    for (let i = 0; i < count; i++) {
      const hour = Math.trunc((times[i]! - this.#base.HOUR) / stepMs.HOUR)
      HOUR.fires[hour]! += jobs
      HOUR.workMs[hour]! += workMs
      if (times[i]! >= minutesEnd) continue
      const minute = Math.trunc((times[i]! - this.#base.MINUTE) / stepMs.MINUTE)
      MINUTE.fires[minute]! += jobs
      MINUTE.workMs[minute]! += workMs
    }
  }
}

export interface TimeRange {
  from: number
  to: number
}

/** Where fires of one handler in one pool are counted. */
interface Target {
  buckets: Record<Step, Buckets>
  jobs: number
  /** Of one fire of each of the jobs. */
  workMs: number
}

function emptyBuckets(count: number): Buckets {
  return { fires: new Int32Array(count), workMs: new Float64Array(count) }
}

function floored(at: number, unitMs: number): number {
  return Math.floor(at / unitMs) * unitMs
}
