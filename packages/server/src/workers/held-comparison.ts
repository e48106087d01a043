/**
 * Both sides agree on what a worker holds: a heartbeat names it all and is compared with the database. What the worker
 * names without holding it is lost; what it leaves out twice in a row is not with it, and is handed back. What it tells the
 * outcome of in the same report is with it, whether that could be written or not; of what was leased after the heartbeat came
 * it could not know.
 */
import type { Cancellation, HeldExecution } from '@carillon/sdk'
import type { Completion } from '../completion/completion.ts'
import { Batcher } from '../lib/batcher.ts'
import type { Database } from '../store/database.ts'
import { type HeldRow, readHeld } from '../store/workers/held.ts'

/** Nobody waits for the answer to a heartbeat, and one look for many workers costs no more than for one. */
const gatherMs = 25

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
  /** Per worker: what its last heartbeat left out although the database says it holds it. */
  readonly #omitted = new Map<string, Set<string>>()
  /** Heartbeats of all workers of this node are looked up together: `running` has no index by worker. */
  readonly #heartbeats: Batcher<string, HeldRow[]>

  constructor(options: HeldComparisonOptions) {
    this.#options = options
    this.#heartbeats = new Batcher({ maxItems: () => 1_000, gatherMs, flush: (workerIds) => this.#lookUp(workerIds) })
  }

  async compare(
    workerId: string,
    { named, told, at }: Heartbeat,
  ): Promise<{ cancellations: Cancellation[]; lost: HeldExecution[] }> {
    const { completion } = this.#options
    const rows = await this.#heartbeats.add(workerId)
    const fenceOf = new Map(rows.map((row) => [row.executionId, row.fence]))
    const lost = named.filter(({ executionId, fence }) => fenceOf.get(executionId) !== fence)
    const cancellations = rows
      .filter((row) => row.cancelReason !== null)
      .map(({ executionId, fence }): Cancellation => ({ executionId, fence, reason: 'CANCELLED' }))

    // A row left out of two reports in a row is not with the worker: its lease answer was lost on the way.
    const names = new Set([...named, ...told].map(keyOf))
    const omitted = rows.filter((row) => row.leasedAt <= at && !names.has(keyOf(row)))
    const before = this.#omitted.get(workerId)
    if (omitted.length > 0) this.#omitted.set(workerId, new Set(omitted.map(keyOf)))
    else this.#omitted.delete(workerId)
    for (const row of omitted) {
      if (!before?.has(keyOf(row))) continue
      const { executionId, fence, began } = row
      const said = { outcome: 'HANDED_BACK', reason: 'NOT_NAMED', began } as const
      completion.end({ executionId, fence, actor: `worker:${workerId}`, from: 'NODE', said }).catch(() => {})
    }
    return { cancellations, lost }
  }

  forget(workerId: string): void {
    this.#omitted.delete(workerId)
  }

  async #lookUp(workerIds: string[]): Promise<HeldRow[][]> {
    await this.#options.see(workerIds)
    const rows = Map.groupBy(await readHeld(this.#options.database, workerIds), (row) => row.workerId)
    return workerIds.map((workerId) => rows.get(workerId) ?? [])
  }
}

function keyOf({ executionId, fence }: { executionId: string; fence: number }): string {
  return `${executionId}:${fence}`
}
