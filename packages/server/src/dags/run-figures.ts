/** Tells metrics what ADVANCE has done. Nobody waits for what it has to look up; figures that cannot be read now are left out. */
import type { Clock } from '../lib/clock.ts'
import type { RunMetrics } from '../observability/run-metrics.ts'
import type { Advanced } from '../store/dags/advance.ts'
import { readEndedRuns, readRetriedAt } from '../store/dags/read-figures.ts'
import type { Database } from '../store/database.ts'

/** A step or run that ADVANCE was called with. */
export interface AdvancedItem {
  executionId: string
  /** Why it was to be skipped. */
  reason: string | null
  /** When the last of the steps it depends on ended; null: it depends on none. */
  waitedUntil: number | null
}

/** Beyond this a step may have waited for something else: its run may have been retried. */
const longMs = 1_000
const mostHeld = 10_000

export class RunFigures {
  readonly #database: Database
  readonly #clock: Clock
  readonly #metrics: RunMetrics
  /** Steps that were not made ready when they could have been, because their runs were paused. */
  readonly #held = new Set<string>()

  constructor({ database, clock, metrics }: { database: Database; clock: Clock; metrics: RunMetrics }) {
    this.#database = database
    this.#clock = clock
    this.#metrics = metrics
  }

  advanced(items: readonly AdvancedItem[], { moved, skipped, cancelled, ended }: Advanced): void {
    this.#metrics.released(moved.length)
    const ready = new Set(moved)
    const gone = new Set([...skipped, ...cancelled])
    const now = this.#clock.now()
    const long: { executionId: string; waitedUntil: number }[] = []
    for (const { executionId, waitedUntil } of items) {
      if (waitedUntil === null) continue
      if (ready.has(executionId)) {
        if (this.#held.delete(executionId)) continue
        if (now - waitedUntil > longMs) long.push({ executionId, waitedUntil })
        else this.#metrics.advanced(Math.max(0, now - waitedUntil))
      } else if (gone.has(executionId)) this.#held.delete(executionId)
      else this.#hold(executionId)
    }
    if (skipped.length > 0) {
      const reasons = new Map(items.map((item) => [item.executionId, item.reason]))
      for (const id of skipped) this.#metrics.skipped(reasons.get(id) ?? 'UNKNOWN')
    }
    if (long.length > 0) void this.#tellLong(long, now).catch(() => {})
    if (ended.length > 0) void this.#tellEnded(ended).catch(() => {})
  }

  #hold(executionId: string): void {
    if (this.#held.size >= mostHeld) this.#held.delete(this.#held.values().next().value!)
    this.#held.add(executionId)
  }

  async #tellLong(long: { executionId: string; waitedUntil: number }[], now: number): Promise<void> {
    const ids = long.map(({ executionId }) => executionId)
    const retried = new Map(
      (await readRetriedAt(this.#database, ids)).map(({ executionId, retriedAt }) => [executionId, retriedAt]),
    )
    for (const { executionId, waitedUntil } of long)
      this.#metrics.advanced(Math.max(0, now - Math.max(waitedUntil, retried.get(executionId) ?? 0)))
  }

  async #tellEnded(runIds: string[]): Promise<void> {
    this.#metrics.ended(await readEndedRuns(this.#database, runIds))
  }
}
