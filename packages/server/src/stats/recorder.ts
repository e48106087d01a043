/**
 * Counts what is told to Activity, by minute, tenant, pool and handler, and writes it every few seconds. What a node has counted and not
 * written is lost if it dies: these are figures, not the ledger.
 *
 * What must stay true: memory is bounded, whatever tenants call their handlers and however long the database is away. A row is
 * written whole in place of what this node wrote before, so that a write that is repeated counts nothing twice.
 */
import type { Origin } from '@carillon/contract'
import type { Clock } from '../lib/clock.ts'
import { Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import { type Activity, type EndedBatch, type LeasedBatch, noActivity, type Work } from '../observability/activity.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import { writeStats } from '../store/stats/write.ts'
import { MinuteTallies } from './minute-tallies.ts'
import type { Tally } from './tally.ts'

const minuteMs = 60_000
const onTimeMs = 1_000
/** Kept while they cannot be written; the oldest go first. */
const mostMinutes = 10
const rowsAtOnce = 500

export interface StatsRecorderOptions {
  database: Database
  nodeId: string
  clock: Clock
  everyMs: number
  logger: Logger
}

export class StatsRecorder implements Service {
  readonly #options: StatsRecorderOptions
  readonly #loop: Loop
  /** By the time at which they begin, oldest first. */
  readonly #minutes = new Map<number, MinuteTallies>()
  readonly activity: Activity = {
    ...noActivity,
    created: (_origin: Origin, works) => this.#count(works, (tally) => tally.created++),
    fired: (works, latenessMs) =>
      this.#count(works, (tally, i) => {
        tally.lateness.measure(latenessMs[i]!)
        if (latenessMs[i]! <= onTimeMs) tally.onTime++
      }),
    leased: (batch) => this.#leased(batch),
    reported: (batch) => this.#reported(batch),
    ended: (state, works) =>
      this.#count(works, (tally) => {
        if (state === 'DEAD') tally.dead++
        else if (state === 'CANCELLED') tally.cancelled++
        else tally.skipped++
      }),
  }

  constructor(options: StatsRecorderOptions) {
    this.#options = options
    const { everyMs, logger } = options
    this.#loop = new Loop({ name: 'stats', everyMs, logger, runOnce: () => this.runOnce() })
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  /** Writes what was counted until now. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    await this.runOnce()
  }

  async runOnce(): Promise<void> {
    const { database, nodeId, clock } = this.#options
    const current = minuteOf(clock.now())
    for (const [at, tallies] of [...this.#minutes]) {
      const rows = tallies.takeChanged()
      try {
        for (let i = 0; i < rows.length; i += rowsAtOnce) {
          const part = rows
            .slice(i, i + rowsAtOnce)
            .map(({ tally, ...key }) => ({ ...key, at, figures: tally.stored() }))
          await writeStats(database, { step: 'MINUTE', nodeId, rows: part })
        }
      } catch (error) {
        tallies.notWritten(rows)
        throw error
      }
      // What is told late still finds the minute before.
      if (at < current - minuteMs && !tallies.hasChanged) this.#minutes.delete(at)
    }
  }

  #leased({ works, pickUpMs }: LeasedBatch): void {
    this.#count(works, (tally, i) => {
      tally.started++
      if (pickUpMs[i]! >= 0) tally.pickUp.measure(pickUpMs[i]!)
      else tally.retried++
    })
  }

  #reported({ works, outcomes, durationMs, states }: EndedBatch): void {
    this.#count(works, (tally, i) => {
      const outcome = outcomes[i]!
      const state = states[i]!
      if (state === 'SUCCEEDED') tally.succeeded++
      else if (state === 'DEAD') tally.dead++
      else if (state === 'CANCELLED') tally.cancelled++
      if (outcome === 'FAILED' || outcome === 'TIMED_OUT' || outcome === 'WORKER_LOST') tally.failed++
      if (durationMs[i]! >= 0) tally.duration.measure(durationMs[i]!)
    })
  }

  #count(works: readonly Work[], add: (tally: Tally, i: number) => void): void {
    const tallies = this.#current()
    let last: Work | null = null
    let tally: Tally | null = null
    for (let i = 0; i < works.length; i++) {
      const work = works[i]!
      if (tally === null || !isSame(work, last!)) {
        // Of one that was leased elsewhere and could not be looked up nothing is known.
        if (work.tenant === '') continue
        tally = tallies.of(work)
        last = work
      }
      add(tally, i)
    }
  }

  #current(): MinuteTallies {
    const at = minuteOf(this.#options.clock.now())
    let tallies = this.#minutes.get(at)
    if (tallies === undefined) {
      tallies = new MinuteTallies()
      this.#minutes.set(at, tallies)
      if (this.#minutes.size > mostMinutes) this.#minutes.delete(this.#minutes.keys().next().value!)
    }
    return tallies
  }
}

function isSame(one: Work, another: Work): boolean {
  return (
    one === another || (one.handler === another.handler && one.tenant === another.tenant && one.pool === another.pool)
  )
}

function minuteOf(ms: number): number {
  return Math.floor(ms / minuteMs) * minuteMs
}
