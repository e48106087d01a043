/**
 * The sweeper looks after what nobody reports: workers that are gone, attempts past their time, start windows and
 * deadlines, and work that waits for nothing any more. One node at a time does it, the leader of shard 0.
 *
 * What must stay true: an outage is nobody's fault. A worker is taken for lost only if it was silent for the whole time
 * *while somebody watched*; after a gap in the watching (the database was away, the watching node changed or was
 * blocked) every worker gets its full time again.
 */
import type { NodeOutcome } from '../domain/node-outcome.ts'
import { monotonicMs } from '../lib/clock.ts'
import type { Logger } from '../observability/logger.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { expireDue, readLost, readOverdue, releaseStranded, removeSilent, type Stray } from '../store/workers/sweep.ts'

export interface SweeperOptions {
  database: Database
  /** Ends an attempt in its worker's place. False: it had ended already. */
  end: (lease: { executionId: string; fence: number }, outcome: NodeOutcome) => Promise<boolean>
  signals: Signals
  logger: Logger
  everyMs: number
  lostMs: number
  /** Monotonic milliseconds; for tests. */
  monotonic?: () => number
}

const batchSize = 1_000

export class Sweeper {
  readonly #options: SweeperOptions
  #watchingSince = 0
  #lastRun = Number.NEGATIVE_INFINITY

  constructor(options: SweeperOptions) {
    this.#options = options
  }

  async runOnce(): Promise<void> {
    const { database, signals, logger, everyMs, lostMs, monotonic = monotonicMs } = this.#options
    const now = monotonic()
    if (now - this.#lastRun > Math.max(3 * everyMs, 3_000)) this.#watchingSince = now
    for (const { workerId, executionId, fence } of await expireDue(database, batchSize)) {
      signals.publish({ kind: 'CANCEL', workerId, executionId, fence, reason: 'TIMED_OUT' })
    }
    const overdue = await readOverdue(database, batchSize)
    await this.#end(overdue, () => ({ outcome: 'TIMED_OUT' }))
    if (now - this.#watchingSince >= lostMs) {
      const lost = await readLost(database, lostMs, batchSize)
      if (lost.length > 0) logger.warn({ executions: lost.length }, 'workers are lost; their executions are taken over')
      await this.#end(lost, ({ began }) => ({ outcome: 'WORKER_LOST', began }))
      await removeSilent(database, lostMs)
    }
    if (await releaseStranded(database)) signals.publish({ kind: 'DUE', at: 0 })
    this.#lastRun = now
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
}
