/**
 * Figures that only tables have: how much waits, what is late, what is quarantined. They are read every few seconds by upkeep/sampler.ts
 * and shown from memory. A sample that is not renewed is dropped: an old figure looks like a true one.
 */
import { monotonicMs } from '../lib/clock.ts'
import { Counter, Gauge } from './families.ts'
import { poolLabels } from './work-metrics.ts'

/** What has been found by comparing the ledger with the schedules. */
export interface VerifiedFigures {
  /** Whatever was due before has been compared. Milliseconds. */
  verifiedUntil: number
  occurrences: number
  missed: number
  doubled: number
  stuck: number
  wrong: number
  lost: number
  late: number
  /** Executions that should have ended, or moved on, at the last look. */
  stuckNow: number
}

/** Where a subscription stands. */
export interface SubscriptionFigures {
  name: string
  source: string
  lag: number
  lagMs: number
  gaps: number
  dropped: number
}

export type QueuePlace = 'ready' | 'running' | 'waiting' | 'retrying'

/** Executions of one pool and lane in one place. */
export interface Depth {
  where: QueuePlace
  pool: string
  lane: number
  count: number
  /** How long the one that is there the longest has been there. */
  oldestMs: number
}

export type StepPlace = 'blocked' | 'released' | 'queued' | 'paused' | 'held_back' | 'signal'

/** Unfinished runs of graphs, and the steps that wait in them. */
export interface RunSample {
  runs: readonly { state: 'running' | 'paused'; count: number }[]
  steps: readonly { where: StepPlace; count: number }[]
  oldestMs: number
}

/** What one node reads for the whole installation. */
export interface InstallationSample {
  depths: readonly Depth[]
  runs: RunSample
  overdue: number
  quarantined: Record<string, number>
  subscriptions: readonly SubscriptionFigures[]
  /** Null before the first comparison. */
  verified: VerifiedFigures | null
}

/** Longer than a few samples take that fail. */
const keptMs = 60_000

const places = ['ready', 'running', 'waiting', 'retrying'] as const
const stepPlaces = ['blocked', 'released', 'queued', 'paused', 'held_back', 'signal'] as const
const queueLabels = ['where', 'tenant', 'pool', 'lane']
const ofSubscription = ['subscription', 'source']

export class SampledMetrics {
  readonly #executions = new Gauge({
    name: 'carillon_executions',
    help: 'Executions ready, running, waiting for another one and waiting for a retry, counted up to 10,000 of a pool and lane',
    labels: queueLabels,
  })
  readonly #oldest = new Gauge({
    name: 'carillon_oldest_execution_seconds',
    help: 'How long the first of them has been ready, running or waiting; of retries, how long the first is overdue',
    labels: queueLabels,
    merge: 'max',
  })
  readonly #runs = new Gauge({
    name: 'carillon_dag_runs',
    help: 'Runs of graphs that have not ended, running and paused, counted up to 10,000',
    labels: ['state'],
  })
  readonly #oldestRun = new Gauge({
    name: 'carillon_oldest_dag_run_seconds',
    help: 'How long ago the first of them began',
  })
  readonly #steps = new Gauge({
    name: 'carillon_dag_steps',
    help: 'Steps that wait, and for what, counted up to 10,000',
    labels: ['where'],
  })
  readonly #overdue = new Gauge({
    name: 'carillon_overdue_jobs',
    help: 'Jobs whose next occurrence was due more than 10 s ago, counted up to 10,000',
  })
  readonly #quarantined = new Gauge({
    name: 'carillon_quarantined_rows',
    help: 'Rows in quarantine, by the table they were in, counted up to 10,000',
    labels: ['source'],
  })
  readonly #verifiedUntil = new Gauge({
    name: 'carillon_verified_until_seconds',
    help: 'Time up to which the ledger has been compared with the schedules, seconds since 1970',
  })
  readonly #verified = new Gauge({
    name: 'carillon_verified_occurrences',
    help: 'Occurrences that were compared, and found missed, doubled, stuck, wrong, lost or late, since the installation is watched',
    labels: ['result'],
  })
  readonly #stuck = new Gauge({
    name: 'carillon_stuck_executions',
    help: 'Executions that should have ended, or moved on, and have not, counted up to 1,000',
  })
  readonly #lag = new Gauge({
    name: 'carillon_subscription_lag',
    help: 'Rows that were not delivered yet; ids are counted',
    labels: ofSubscription,
  })
  readonly #lagSeconds = new Gauge({
    name: 'carillon_subscription_lag_seconds',
    help: 'Age of the oldest row that was not delivered yet',
    labels: ofSubscription,
  })
  readonly #gaps = new Counter({
    name: 'carillon_subscription_gaps_total',
    help: 'Gaps, since the subscription was created',
    labels: ofSubscription,
  })
  readonly #dropped = new Counter({
    name: 'carillon_subscription_dropped_total',
    help: 'Rows dropped before they were delivered',
    labels: ofSubscription,
  })
  readonly #leaderless = new Gauge({
    name: 'carillon_leaderless_shards',
    help: 'Shards that no live node leads, as this node sees it',
  })
  readonly #ofInstallation = [
    ...[this.#executions, this.#oldest, this.#runs, this.#oldestRun, this.#steps, this.#overdue, this.#quarantined],
    ...[this.#verifiedUntil, this.#verified, this.#stuck, this.#lag, this.#lagSeconds, this.#gaps, this.#dropped],
  ]
  readonly families = [...this.#ofInstallation, this.#leaderless]
  readonly #now: () => number
  #sampledAt = Number.NEGATIVE_INFINITY
  #leaderlessAt = Number.NEGATIVE_INFINITY

  /** `monotonic`: milliseconds; for tests. */
  constructor({ monotonic = monotonicMs }: { monotonic?: () => number } = {}) {
    this.#now = monotonic
  }

  leaderless(shards: number): void {
    this.#leaderless.of().value = shards
    this.#leaderlessAt = this.#now()
  }

  /** Null: another node reads them. */
  sampled(sample: InstallationSample | null): void {
    for (const family of this.#ofInstallation) family.clear()
    if (sample === null) return
    this.#sampledAt = this.#now()
    this.#setDepths(sample.depths)
    this.#setRuns(sample.runs)
    this.#overdue.of().value = sample.overdue
    for (const [source, count] of Object.entries(sample.quarantined)) this.#quarantined.of(source).value = count
    for (const { name, source, lag, lagMs, gaps, dropped } of sample.subscriptions) {
      this.#lag.of(name, source).value = lag
      this.#lagSeconds.of(name, source).value = lagMs / 1_000
      this.#gaps.of(name, source).value = gaps
      this.#dropped.of(name, source).value = dropped
    }
    if (sample.verified) this.#setVerified(sample.verified)
  }

  /** Drops what is too old to be shown. */
  prune(): void {
    const oldest = this.#now() - keptMs
    if (this.#sampledAt < oldest) this.sampled(null)
    if (this.#leaderlessAt < oldest) this.#leaderless.clear()
  }

  #setDepths(depths: readonly Depth[]): void {
    // An empty installation has figures, too: none of each.
    for (const where of places)
      if (!depths.some((depth) => depth.where === where)) this.#executions.of(where, '', '', '')
    for (const { where, pool, lane, count, oldestMs } of depths) {
      const labels = [where, ...poolLabels(pool, lane)]
      this.#executions.of(...labels).value += count
      const oldest = this.#oldest.of(...labels)
      oldest.value = Math.max(oldest.value, oldestMs / 1_000)
    }
  }

  #setRuns({ runs, steps, oldestMs }: RunSample): void {
    for (const state of ['running', 'paused']) this.#runs.of(state)
    for (const where of stepPlaces) this.#steps.of(where)
    for (const { state, count } of runs) this.#runs.of(state).value = count
    for (const { where, count } of steps) this.#steps.of(where).value = count
    this.#oldestRun.of().value = oldestMs / 1_000
  }

  #setVerified({
    verifiedUntil,
    occurrences,
    stuckNow,
    missed,
    doubled,
    stuck,
    wrong,
    lost,
    late,
  }: VerifiedFigures): void {
    this.#verifiedUntil.of().value = verifiedUntil / 1_000
    this.#stuck.of().value = stuckNow
    const results = { compared: occurrences, missed, doubled, stuck, wrong, lost, late }
    for (const [result, count] of Object.entries(results)) this.#verified.of(result).value = count
  }
}
