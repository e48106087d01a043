/** Figures of executions, from what is told to Activity. */
import { priorities } from '@carillon/contract'
import { poolName } from '../domain/pool-key.ts'
import type {
  Activity,
  AttemptOutcome,
  BatchCall,
  EndedBatch,
  LeasedBatch,
  RefusedDuplicate,
  Work,
} from './activity.ts'
import { BoundedNames, Counter, type Distribution, Histogram, type Value } from './families.ts'

const mostHandlers = 100
const mostPools = 100
/** What counts as on time. */
const onTimeMs = 1_000

const secondsBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const durationBounds = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200]
const sizeBounds = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000]

/** Of one handler. */
interface HandlerSeries {
  duration: Distribution
  attempts: Map<AttemptOutcome, Value>
  dead: Value
}

export class WorkMetrics implements Activity {
  readonly #lateness = new Histogram({
    name: 'carillon_fire_lateness_seconds',
    help: 'From the due time of a scheduled occurrence to the commit that fired it',
    bounds: secondsBounds,
  })
  readonly #fires = new Counter({ name: 'carillon_fires_total', help: 'Scheduled occurrences that fired' })
  readonly #onTime = new Counter({
    name: 'carillon_fires_on_time_total',
    help: 'Scheduled occurrences that fired within 1 s of their due time',
  })
  readonly #cycle = new Histogram({
    name: 'carillon_fire_cycle_seconds',
    help: 'Time to fire one batch of due work, from the timing wheel to the commit',
    bounds: secondsBounds,
  })
  readonly #created = new Counter({
    name: 'carillon_executions_created_total',
    help: 'Executions that came into being, by where they came from',
    labels: ['origin'],
  })
  readonly #started = new Counter({
    name: 'carillon_attempts_leased_total',
    help: 'Attempts that were given to workers',
    labels: ['tenant', 'pool', 'lane'],
  })
  readonly #pickUp = new Histogram({
    name: 'carillon_pick_up_seconds',
    help: 'From the due time of an execution, of a submission its acceptance, to the lease of its first attempt',
    labels: ['tenant', 'pool', 'lane'],
    bounds: secondsBounds,
  })
  readonly #duration = new Histogram({
    name: 'carillon_attempt_seconds',
    help: 'From the start of an attempt to its outcome, by handler: the first 100 this node meets, the rest as other',
    labels: ['handler'],
    bounds: durationBounds,
  })
  readonly #attempts = new Counter({
    name: 'carillon_attempts_total',
    help: 'Attempts that ended, by handler and outcome',
    labels: ['handler', 'outcome'],
  })
  readonly #dead = new Counter({
    name: 'carillon_dead_letters_total',
    help: 'Executions that became dead letters',
    labels: ['handler'],
  })
  readonly #ended = new Counter({
    name: 'carillon_executions_ended_total',
    help: 'Executions that ended, by state',
    labels: ['state'],
  })
  readonly #duplicates = new Counter({
    name: 'carillon_duplicates_refused_total',
    help: 'Repetitions that were recognised: of fires, of dedupe keys, of requests by their Idempotency-Key',
    labels: ['kind'],
  })
  readonly #stale = new Counter({
    name: 'carillon_stale_reports_total',
    help: 'Reports that were refused because the attempt was no longer the worker’s',
  })
  readonly #batches = new Histogram({
    name: 'carillon_batch_executions',
    help: 'Executions in one call of FIRE, SUBMIT, LEASE or REPORT',
    labels: ['call'],
    bounds: sizeBounds,
  })
  readonly families = [
    ...[this.#lateness, this.#fires, this.#onTime, this.#cycle, this.#created, this.#started, this.#pickUp],
    ...[this.#duration, this.#attempts, this.#dead, this.#ended, this.#duplicates, this.#stale, this.#batches],
  ]
  readonly #handlerNames = new BoundedNames(mostHandlers)
  readonly #poolNames = new BoundedNames(mostPools)
  readonly #handlers = new Map<string, HandlerSeries>()
  readonly #succeeded = this.#ended.of('SUCCEEDED')

  constructor() {
    // Counters that are there from the start: a rate over their first increase is not lost.
    for (const counter of [this.#fires, this.#onTime, this.#stale]) counter.of()
    for (const histogram of [this.#lateness, this.#cycle]) histogram.of()
    for (const state of ['DEAD', 'CANCELLED', 'SKIPPED']) this.#ended.of(state)
    for (const kind of ['FIRE', 'DEDUPE', 'IDEMPOTENCY_KEY']) this.#duplicates.of(kind)
  }

  batch(call: BatchCall, size: number): void {
    this.#batches.observe(this.#batches.of(call), size)
  }

  fireCycle(ms: number): void {
    this.#cycle.observe(this.#cycle.of(), ms / 1_000)
  }

  created(origin: string, works: readonly Work[]): void {
    this.#created.of(origin).value += works.length
  }

  fired(_works: readonly Work[], latenessMs: readonly number[]): void {
    const lateness = this.#lateness.of()
    this.#fires.of().value += latenessMs.length
    const onTime = this.#onTime.of()
    for (const ms of latenessMs) {
      this.#lateness.observe(lateness, ms / 1_000)
      if (ms <= onTimeMs) onTime.value++
    }
  }

  leased({ pool, lane, works, pickUpMs }: LeasedBatch): void {
    const labels = this.#poolLabels(pool, lane)
    this.#started.of(...labels).value += works.length
    const pickUp = this.#pickUp.of(...labels)
    for (const ms of pickUpMs) if (ms >= 0) this.#pickUp.observe(pickUp, ms / 1_000)
  }

  reported({ works, outcomes, durationMs, states }: EndedBatch): void {
    for (let i = 0; i < works.length; i++) {
      const of = this.#ofHandler(works[i]!.handler)
      const outcome = outcomes[i]!
      let attempts = of.attempts.get(outcome)
      if (attempts === undefined) {
        attempts = this.#attempts.of(this.#handlerNames.of(works[i]!.handler), outcome)
        of.attempts.set(outcome, attempts)
      }
      attempts.value++
      if (durationMs[i]! >= 0) this.#duration.observe(of.duration, durationMs[i]! / 1_000)
      const state = states[i]!
      if (state === 'SUCCEEDED') this.#succeeded.value++
      else if (state !== null) this.#ended.of(state).value++
      if (state === 'DEAD') of.dead.value++
    }
  }

  ended(state: 'DEAD' | 'CANCELLED' | 'SKIPPED', works: readonly Work[]): void {
    this.#ended.of(state).value += works.length
    if (state === 'DEAD') for (const { handler } of works) this.#ofHandler(handler).dead.value++
  }

  duplicates(kind: RefusedDuplicate, count: number): void {
    this.#duplicates.of(kind).value += count
  }

  staleReports(count: number): void {
    this.#stale.of().value += count
  }

  #ofHandler(handler: string): HandlerSeries {
    const known = this.#handlers.get(handler)
    if (known !== undefined) return known
    const name = this.#handlerNames.of(handler)
    const series = this.#handlers.get(name) ?? {
      duration: this.#duration.of(name),
      attempts: new Map(),
      dead: this.#dead.of(name),
    }
    this.#handlers.set(name, series)
    return series
  }

  #poolLabels(pool: string, lane: number): [tenant: string, pool: string, lane: string] {
    return poolLabels(this.#poolNames.of(pool), lane)
  }
}

/** A pool that belongs to the installation has no tenant. */
export function poolLabels(pool: string, lane: number): [tenant: string, pool: string, lane: string] {
  const name = poolName(pool)
  return [pool.slice(0, Math.max(0, pool.length - name.length - 1)), name, priorities[lane] ?? String(lane)]
}
