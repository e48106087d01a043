/**
 * Makes worker and database agree on what the worker holds: a heartbeat names it all and is compared with the database, twice.
 *
 * At once, by what it names, for the answer: what it no longer holds is lost, and what was cancelled it is told to
 * stop. And every few seconds, for all workers together, by what the database says they hold: what a worker left out of its
 * last heartbeat, in two such looks in a row, is not with it (its lease answer was lost on the way) and is handed back. What it
 * told the outcome of in the same report is with it, whether that could be written or not; of what was leased after the
 * heartbeat came it could not know. That the database is read later than the heartbeat came does no harm: a lease that is there
 * then was there before.
 */
import type { Cancellation, HeldExecution } from '@carillon/contract'
import type { Completion } from '../completion/completion.ts'
import { Batcher } from '../lib/batcher.ts'
import type { Database } from '../store/database.ts'
import { type HeldLease, type HeldRow, readHeld, readUnnamed } from '../store/workers/held.ts'

/** Heartbeats are not urgent, and many looked up together cost less. */
const gatherMs = 25
/** A worker may name a hundred thousand: the others wait a little for that, but no statement takes too long over it. */
const namedPerCall = 5_000

export interface HeldComparisonOptions {
  database: Database
  completion: Completion
  /** A heartbeat says that its worker lives. */
  see: (workerIds: string[]) => Promise<unknown>
}

export interface Heartbeat {
  /** What the worker says it holds. */
  named: readonly HeldExecution[]
  /** What it tells the outcome of in the same report. */
  told: readonly HeldExecution[]
  /** When it came, milliseconds since 1970. */
  at: number
}

export class HeldComparison {
  readonly #options: HeldComparisonOptions
  readonly #heartbeats: Batcher<{ workerId: string; named: readonly HeldExecution[] }, Map<string, HeldLease>>
  /** Per worker: its last heartbeat since the last look. */
  #heard = new Map<string, Heartbeat>()
  /** Per worker: what it had left out at the last look. */
  readonly #omitted = new Map<string, Set<string>>()

  constructor(options: HeldComparisonOptions) {
    this.#options = options
    this.#heartbeats = new Batcher({ maxItems: () => 1_000, gatherMs, flush: (heartbeats) => this.#lookUp(heartbeats) })
  }

  async compare(
    workerId: string,
    heartbeat: Heartbeat,
  ): Promise<{ cancellations: Cancellation[]; lost: HeldExecution[] }> {
    const { named } = heartbeat
    const running = await this.#heartbeats.add({ workerId, named })
    this.#heard.set(workerId, heartbeat)
    const cancellations: Cancellation[] = []
    const lost: HeldExecution[] = []
    for (const { executionId, fence } of named) {
      const row = running.get(executionId)
      if (row?.fence !== fence || row.workerId !== workerId) lost.push({ executionId, fence })
      else if (row.cancelReason !== null) cancellations.push({ executionId, fence, reason: 'CANCELLED' })
    }
    return { cancellations, lost }
  }

  /** Scans for executions that the workers heard of since the last scan do not name. */
  async handBackOmitted(): Promise<void> {
    const heard = this.#heard
    if (heard.size === 0) return
    this.#heard = new Map()
    const fences = [...heard.values()].flatMap(({ named, told }) => [...named, ...told].map(({ fence }) => fence))
    const unnamed = await readUnnamed(this.#options.database, [...heard.keys()], fences)
    const rows = Map.groupBy(unnamed, (row) => row.workerId)
    const again = [...heard].flatMap(([workerId, heartbeat]) =>
      this.#again(workerId, heartbeat, rows.get(workerId) ?? []),
    )
    await this.#options.completion.endAll(
      again.map(({ executionId, fence, workerId, began }) => ({
        ...{ executionId, fence, actor: `worker:${workerId}`, from: 'NODE' },
        said: { outcome: 'HANDED_BACK', reason: 'NOT_NAMED', began },
      })),
    )
  }

  forget(workerId: string): void {
    this.#heard.delete(workerId)
    this.#omitted.delete(workerId)
  }

  async #lookUp(
    heartbeats: { workerId: string; named: readonly HeldExecution[] }[],
  ): Promise<Map<string, HeldLease>[]> {
    await this.#options.see(heartbeats.map(({ workerId }) => workerId))
    const all = heartbeats.flatMap(({ named }) => named)
    const held = new Map<string, HeldLease>()
    for (let from = 0; from < all.length; from += namedPerCall) {
      const found = await readHeld(this.#options.database, all.slice(from, from + namedPerCall))
      for (const [executionId, lease] of found) held.set(executionId, lease)
    }
    return heartbeats.map(() => held)
  }

  /** What the worker left out for the second time. */
  #again(workerId: string, { named, told, at }: Heartbeat, rows: HeldRow[]): HeldRow[] {
    const names = new Set([...named, ...told].map(keyOf))
    const omitted = rows.filter((row) => row.leasedAt <= at && !names.has(keyOf(row)))
    const before = this.#omitted.get(workerId)
    if (omitted.length > 0) this.#omitted.set(workerId, new Set(omitted.map(keyOf)))
    else this.#omitted.delete(workerId)
    return omitted.filter((row) => before?.has(keyOf(row)))
  }
}

function keyOf({ executionId, fence }: { executionId: string; fence: number }): string {
  return `${executionId}:${fence}`
}
