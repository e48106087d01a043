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
import type { Clock } from '../lib/clock.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import type { Lease } from '../store/executions/lease.ts'
import { beginHandlers, storeProgress } from '../store/executions/worker-news.ts'
import { readHeld, registerWorker, removeWorkers, seeWorkers } from '../store/workers/register.ts'

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
  readonly #poolsOf = new Map<string, string[]>()

  constructor(options: WorkerDeskOptions) {
    this.#options = options
  }

  async register(worker: WorkerAnnouncement): Promise<void> {
    const { database, nodeId } = this.#options
    await registerWorker(database, { ...worker, nodeId })
    this.#poolsOf.set(
      worker.workerId,
      worker.pools.map(({ pool }) => pool),
    )
  }

  async lease(request: LeaseRequest, signal: AbortSignal): Promise<LeaseAnswer> {
    const leases = await this.#options.dispatcher.lease(request.pool, request, signal)
    return { executions: leases.map((l) => leased(l, request.pool)), serverTime: this.#options.clock.now() }
  }

  async report(said: WorkerReport): Promise<ReportAnswer> {
    const { completion, database } = this.#options
    const actor = `worker:${said.workerId}`
    if (said.outcomes.some((o) => o.outcome === 'HANDED_BACK' && o.reason === 'UNKNOWN_HANDLER')) {
      for (const pool of this.#poolsOf.get(said.workerId) ?? []) this.#options.dispatcher.letOthersFirst(pool)
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
    const began = said.began.map(({ executionId }): ReportVerdict => (begun.has(executionId) ? 'ACCEPTED' : 'REFUSED'))
    const { cancellations, lost } = said.held === null ? nothing : await this.#compare(said.workerId, said.held)
    return { serverTime: this.#options.clock.now(), outcomes, began, cancellations, lost }
  }

  async deregister(workerId: string): Promise<void> {
    const { database, completion } = this.#options
    const held = await readHeld(database, [workerId])
    await Promise.all(
      held.map(({ executionId, fence }) =>
        completion.end({
          executionId,
          fence,
          actor: `worker:${workerId}`,
          from: 'NODE',
          said: { outcome: 'HANDED_BACK', reason: 'NOT_NAMED' },
        }),
      ),
    )
    await removeWorkers(database, [workerId])
    this.#omitted.delete(workerId)
    this.#poolsOf.delete(workerId)
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
      const said = { outcome: 'HANDED_BACK', reason: 'UNDELIVERED' } as const
      // If this fails too, the sweeper finds that its worker does not name it.
      this.#options.completion.end({ executionId, fence, actor: 'node', from: 'NODE', said }).catch(() => {})
    }
  }

  /** A heartbeat: the worker names all it holds; compare that with the database. */
  async #compare(
    workerId: string,
    named: HeldExecution[],
  ): Promise<{ cancellations: Cancellation[]; lost: HeldExecution[] }> {
    const { database, completion } = this.#options
    await seeWorkers(database, [workerId])
    const rows = await readHeld(database, [workerId])
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
    for (const { executionId, fence } of omitted) {
      if (!before?.has(`${executionId}:${fence}`)) continue
      const said = { outcome: 'HANDED_BACK', reason: 'NOT_NAMED' } as const
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
