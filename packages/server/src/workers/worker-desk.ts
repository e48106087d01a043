/**
 * Where workers turn to, however they come: announce themselves, lease, report, leave. Leasing is dispatch's, outcomes are
 * completion's; what is here is the worker itself: that it lives, and that both sides agree on what it holds.
 */
import type {
  Cancellation,
  HeldExecution,
  LeaseAnswer,
  LeasedExecution,
  LeaseRequest,
  ReportAnswer,
  ReportVerdict,
  WorkerAnnouncement,
  WorkerReport,
} from '@carillon/sdk'
import type { Completion } from '../completion/completion.ts'
import type { Dispatcher } from '../dispatch/dispatcher.ts'
import { Batcher } from '../lib/batcher.ts'
import type { Clock } from '../lib/clock.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import type { Lease } from '../store/executions/lease.ts'
import { beginHandlers, storeProgress } from '../store/executions/worker-news.ts'
import { type HeldRow, readHeld, registerWorker, removeWorkers, seeWorkers } from '../store/workers/register.ts'

export interface WorkerDeskOptions {
  database: Database
  nodeId: string
  dispatcher: Dispatcher
  completion: Completion
  signals: Signals
  clock: Clock
}

export class WorkerDesk {
  readonly #options: WorkerDeskOptions
  /** Per worker: what its last report left out although the database says it holds it. */
  readonly #omitted = new Map<string, Set<string>>()
  readonly #announced = new Map<string, WorkerAnnouncement>()
  /** Heartbeats of all workers of this node are looked up together: `running` has no index by worker. */
  readonly #heartbeats: Batcher<string, HeldRow[]>

  constructor(options: WorkerDeskOptions) {
    this.#options = options
    this.#heartbeats = new Batcher({ maxItems: () => 1_000, flush: (workerIds) => this.#lookUp(workerIds) })
  }

  async register(worker: WorkerAnnouncement): Promise<void> {
    const { database, nodeId } = this.#options
    await registerWorker(database, { ...worker, nodeId })
    this.#announced.set(worker.workerId, worker)
  }

  async lease(request: LeaseRequest, signal: AbortSignal): Promise<LeaseAnswer> {
    const leases = await this.#options.dispatcher.lease(request.pool, request, signal)
    return { executions: leases.map((l) => leased(l, request.pool)), serverTime: this.#options.clock.now() }
  }

  async report(said: WorkerReport): Promise<ReportAnswer> {
    const { completion, database } = this.#options
    const actor = `worker:${said.workerId}`
    if (said.outcomes.some((o) => o.outcome === 'HANDED_BACK' && o.reason === 'UNKNOWN_HANDLER')) {
      for (const { pool } of this.#announced.get(said.workerId)?.pools ?? [])
        this.#options.dispatcher.letOthersFirst(pool)
    }
    const [outcomes, begun] = await Promise.all([
      Promise.all(
        said.outcomes.map((outcome) =>
          completion.end({
            executionId: outcome.executionId,
            fence: outcome.fence,
            actor,
            from: 'WORKER',
            said: outcome,
          }),
        ),
      ),
      said.began.length > 0 ? beginHandlers(database, said.began) : new Set<string>(),
      said.progress.length > 0 ? storeProgress(database, said.progress) : null,
    ])
    const newest = new Map<string, number>()
    for (const { executionId, fence } of said.began) {
      newest.set(executionId, Math.max(fence, newest.get(executionId) ?? 0))
    }
    const began = said.began.map(
      ({ executionId, fence }): ReportVerdict =>
        begun.has(executionId) && fence === newest.get(executionId) ? 'ACCEPTED' : 'REFUSED',
    )
    const { cancellations, lost } = said.held === null ? nothing : await this.#compare(said.workerId, said.held)
    return { serverTime: this.#options.clock.now(), outcomes, began, cancellations, lost }
  }

  async deregister(workerId: string): Promise<void> {
    const { database, completion } = this.#options
    this.#announced.delete(workerId)
    const held = await readHeld(database, [workerId])
    await Promise.all(
      held.map(({ executionId, fence, began }) =>
        completion.end({
          executionId,
          fence,
          actor: `worker:${workerId}`,
          from: 'NODE',
          said: { outcome: 'HANDED_BACK', reason: 'NOT_NAMED', began },
        }),
      ),
    )
    await removeWorkers(database, [workerId])
    this.#omitted.delete(workerId)
  }

  onCancel(workerId: string, listener: (cancellation: Cancellation) => void): () => void {
    return this.#options.signals.subscribe((signal) => {
      if (signal.kind !== 'CANCEL' || signal.workerId !== workerId) return
      listener({ executionId: signal.executionId, fence: signal.fence, reason: signal.reason })
    })
  }

  /** Leases whose worker was gone when they arrived. */
  undelivered(leases: Lease[]): void {
    for (const { executionId, fence } of leases) {
      const said = { outcome: 'HANDED_BACK', reason: 'UNDELIVERED', began: false } as const
      // If this fails too, the sweeper finds that its worker does not name it.
      this.#options.completion.end({ executionId, fence, actor: 'node', from: 'NODE', said }).catch(() => {})
    }
  }

  async #lookUp(workerIds: string[]): Promise<HeldRow[][]> {
    const { database } = this.#options
    const seen = await seeWorkers(database, workerIds)
    for (const workerId of workerIds) {
      // It was taken for lost and forgotten, yet it lives: without this its executions would be lost again and again.
      const worker = seen.has(workerId) ? undefined : this.#announced.get(workerId)
      if (worker) await this.register(worker)
    }
    const rows = Map.groupBy(await readHeld(database, workerIds), (row) => row.workerId)
    return workerIds.map((workerId) => rows.get(workerId) ?? [])
  }

  /** A heartbeat: the worker names all it holds; compare that with the database. */
  async #compare(
    workerId: string,
    named: HeldExecution[],
  ): Promise<{ cancellations: Cancellation[]; lost: HeldExecution[] }> {
    const { completion } = this.#options
    const rows = await this.#heartbeats.add(workerId)
    const fenceOf = new Map(rows.map((row) => [row.executionId, row.fence]))
    const lost = named.filter(({ executionId, fence }) => fenceOf.get(executionId) !== fence)
    const cancellations = rows
      .filter((row) => row.cancelReason !== null)
      .map(({ executionId, fence }): Cancellation => ({ executionId, fence, reason: 'CANCELLED' }))

    // A row left out of two reports in a row is not with the worker: its lease answer was lost on the way.
    const names = new Set(named.map(({ executionId, fence }) => `${executionId}:${fence}`))
    const omitted = rows.filter(({ executionId, fence }) => !names.has(`${executionId}:${fence}`))
    const before = this.#omitted.get(workerId)
    this.#omitted.set(workerId, new Set(omitted.map(({ executionId, fence }) => `${executionId}:${fence}`)))
    for (const { executionId, fence, began } of omitted) {
      if (!before?.has(`${executionId}:${fence}`)) continue
      const said = { outcome: 'HANDED_BACK', reason: 'NOT_NAMED', began } as const
      completion.end({ executionId, fence, actor: `worker:${workerId}`, from: 'NODE', said }).catch(() => {})
    }
    return { cancellations, lost }
  }
}

const nothing = { cancellations: [], lost: [] }

function leased(row: Lease, pool: string): LeasedExecution {
  return {
    executionId: row.executionId,
    jobId: row.jobId,
    tenant: row.tenant,
    pool,
    handler: row.handler,
    attempt: row.attempt,
    maxAttempts: row.policy.retryPolicy.maxAttempts,
    fence: row.fence,
    scheduledFor: row.scheduledFor,
    dueAt: row.dueAt,
    timeoutSec: row.policy.timeoutSec,
    deadlineAt: row.deadlineAt,
    heartbeatTimeoutSec: row.policy.heartbeatTimeoutSec,
    cancelGraceSec: row.policy.cancelGraceSec,
    announceStart: row.policy.delivery === 'AT_MOST_ONCE',
    payload: row.payload,
    lastProgress: row.lastProgress,
    labels: row.labels,
    traceparent: row.traceparent,
  }
}
