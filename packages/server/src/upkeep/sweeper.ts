/**
 * The sweeper ends what no worker reports: workers that are gone, attempts past their time, start windows and
 * deadlines, and work that waits for nothing any more. One node at a time does it, the leader of shard 0.
 *
 * What must stay true: an outage costs no worker its leases. A worker is taken for lost, and a handler for silent, only if it
 * was silent for the whole time *while some node could hear it* (liveness/port.ts). After a gap every worker gets the full time
 * again, and what ended meanwhile the time to say so. Which node sweeps, and how often that changes, makes no difference.
 */
import type { NodeOutcome } from '../domain/node-outcome.ts'
import { TimeBudget } from '../lib/time-budget.ts'
import type { WorkerLiveness } from '../liveness/port.ts'
import type { Logger } from '../observability/logger.ts'
import type { Signals } from '../signals/port.ts'
import { cancelAbandonedRuns, expireRuns } from '../store/dags/runs.ts'
import type { Database } from '../store/database.ts'
import { Isolation } from '../store/quarantine/isolation.ts'
import type { Stray } from '../store/workers/sweep.ts'
import { Sweeps } from './sweeps.ts'

export interface SweeperOptions {
  database: Database
  /** Ends an attempt for its worker. False: it had ended already. */
  end: (lease: { executionId: string; fence: number }, outcome: NodeOutcome) => Promise<boolean>
  /** Called with executions that passed their deadline before they started. */
  onDead?: (executionIds: string[]) => void
  /** Called with executions whose start window passed. */
  onSkipped?: (executionIds: string[]) => void
  signals: Signals
  logger: Logger
  liveness: Pick<WorkerLiveness, 'listeningMs' | 'live' | 'forgetSilent'>
  isolation?: Isolation
  lostMs: number
  /** For tests. */
  looks?: TimeBudget
}

const batchSize = 1_000
/** Runs that are cancelled at once: each may have 1,000 steps. */
const mostRuns = 10
/** A worker that could not report tries again at least this often: after a gap, what is overdue waits for that. */
const reportAgainMs = 5_000
/**
 * Scans of `leases` may use at most 2 % of wall time. While a transaction stays open, dead rows cannot be vacuumed; with
 * millions of them one scan takes long, and runs seldom.
 */
const share = 0.02
/** What is lost is noticed within 35 s of 30: that leaves 3 s for the pause, the rest for the look itself and what it ends. */
export const longestPauseMs = (lostMs: number) => lostMs / 10
/** Workers in one line of the log. */
const mostNamed = 10

export class Sweeper {
  readonly #options: SweeperOptions
  readonly #looks: TimeBudget
  /** Of scans of the runs that executions have started. */
  readonly #runLooks = new TimeBudget({ share, longestPauseMs: 1_000 })
  readonly #sweeps: Sweeps

  constructor(options: SweeperOptions) {
    this.#options = options
    this.#looks = options.looks ?? new TimeBudget({ share, longestPauseMs: longestPauseMs(options.lostMs) })
    this.#sweeps = new Sweeps(options.database, options.isolation ?? new Isolation(options))
  }

  /** `sparing`: scans leases only if the time budget allows it. */
  async runOnce({ sparing = false } = {}): Promise<void> {
    const { lostMs } = this.#options
    const watchedMs = await this.#listened()
    const looks = !sparing || this.#looks.pauseMs === 0
    const strays = looks ? await this.#looks.spend(() => this.#look(watchedMs)) : []
    // Each independently: one that cannot be ended now must not delay the rest.
    await this.#attempt('start windows and deadlines', () => this.#expire())
    await this.#attempt('deadlines of runs', () => this.#cancelRuns(expireRuns, 'TIMED_OUT'))
    if (!sparing || this.#runLooks.pauseMs === 0)
      await this.#attempt('runs whose executions have ended', () =>
        this.#runLooks.spend(() => this.#cancelRuns(cancelAbandonedRuns, 'CANCELLED')),
      )
    const [overdue, lost] = [strays.filter((s) => s.overdue), strays.filter((s) => !s.overdue)]
    if (watchedMs >= Math.min(lostMs, reportAgainMs)) {
      await this.#attempt('overdue attempts', () =>
        this.#end(overdue, ({ began }) => ({ outcome: 'TIMED_OUT', began })),
      )
    }
    if (looks && watchedMs >= lostMs) await this.#attempt('lost workers', () => this.#endLost(lost))
    await this.#attempt('what waits for nothing', () => this.#release())
  }

  /** 0 if that is unknown now: then no worker counts as lost in this run. */
  async #listened(): Promise<number> {
    let watchedMs = 0
    await this.#attempt('the time in which workers could be heard', async () => {
      watchedMs = await this.#options.liveness.listeningMs()
    })
    return watchedMs
  }

  #look(watchedMs: number): Promise<Stray[]> {
    const { lostMs } = this.#options
    return this.#sweeps.strays({ watchedMs, lostMs: watchedMs >= lostMs ? lostMs : null, limit: batchSize })
  }

  async #expire(): Promise<void> {
    const { signals, onDead, onSkipped } = this.#options
    const { flagged, dead, skipped } = await this.#sweeps.expire(batchSize)
    for (const { workerId, executionId, fence } of flagged) {
      signals.publish({ kind: 'CANCEL', workerId, executionId, fence, reason: 'TIMED_OUT' })
    }
    if (dead.length > 0) onDead?.(dead)
    if (skipped.length > 0) onSkipped?.(skipped)
  }

  async #cancelRuns(cancel: typeof expireRuns, reason: 'TIMED_OUT' | 'CANCELLED'): Promise<void> {
    for (const told of await cancel(this.#options.database, mostRuns)) {
      this.#options.signals.publish({ kind: 'CANCEL', ...told, reason })
    }
  }

  async #endLost(silent: Stray[]): Promise<void> {
    const { liveness, logger, lostMs } = this.#options
    const lost = silent.length > 0 ? await this.#withoutLive(silent) : []
    if (lost.length > 0) {
      const workers = [...new Set(lost.map(({ workerId }) => workerId))].slice(0, mostNamed)
      logger.warn({ workers, executions: lost.length }, 'workers are lost; their executions are retried elsewhere')
    }
    await this.#end(lost, ({ began }) => ({ outcome: 'WORKER_LOST', began }))
    for (const worker of await liveness.forgetSilent(lostMs)) logger.info(worker, 'a lost worker was removed')
  }

  /** Liveness may know of a later heartbeat than the store. */
  async #withoutLive(strays: Stray[]): Promise<Stray[]> {
    const { liveness, lostMs } = this.#options
    const live = await liveness.live([...new Set(strays.map(({ workerId }) => workerId))], lostMs)
    return strays.filter(({ workerId }) => !live.has(workerId))
  }

  async #release(): Promise<void> {
    if (await this.#sweeps.release()) this.#options.signals.publish({ kind: 'DUE', at: 0 })
  }

  async #end(strays: Stray[], said: (stray: Stray) => NodeOutcome): Promise<void> {
    const { end, signals } = this.#options
    await Promise.all(
      strays.map(async (stray) => {
        const { executionId, fence, workerId } = stray
        if (!(await end({ executionId, fence }, said(stray)))) return
        signals.publish({ kind: 'CANCEL', workerId, executionId, fence, reason: 'TIMED_OUT' })
      }),
    )
  }

  async #attempt(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#options.logger.warn({ err: error, what }, 'a part of the sweep failed; trying again')
    }
  }
}
