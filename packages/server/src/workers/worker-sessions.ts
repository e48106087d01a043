/**
 * The sessions of workers, by direct call or HTTP: register, lease, report, deregister. Leasing is dispatch's, outcomes are
 * completion's, registration is KnownWorkers'; this file combines them and makes sure that worker and database
 * agree on what the worker holds.
 */
import type { Cancellation, HeldExecution, RegistrationAnswer, ReportAnswer, ReportVerdict } from '@carillon/contract'
import type { LeaseRequest, ReportedOutcome, WorkerRegistration, WorkerReport } from '@carillon/sdk'
import type { Completion } from '../completion/completion.ts'
import type { Dispatcher } from '../dispatch/dispatcher.ts'
import type { LeasedText } from '../dispatch/pool-dispatcher.ts'
import { Batcher } from '../lib/batcher.ts'
import { bisect } from '../lib/bisect.ts'
import type { Clock } from '../lib/clock.ts'
import { Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import { TimeBudget } from '../lib/time-budget.ts'
import type { WorkerLiveness } from '../liveness/port.ts'
import type { Logger } from '../observability/logger.ts'
import type { Signals } from '../signals/port.ts'
import { noteRefusals } from '../store/audit/refusals.ts'
import type { Database } from '../store/database.ts'
import { leasedExecutions } from '../store/executions/lease.ts'
import { beginHandlers, type ProgressNews, storeProgress } from '../store/executions/worker-news.ts'
import { isOfData } from '../store/trouble.ts'
import { readForeign, readUnnamed } from '../store/workers/held.ts'
import { HeldComparison } from './held-comparison.ts'
import { type KnownWorker, KnownWorkers } from './known-workers.ts'
import { LineWriter } from './line-writer.ts'
import { Polls } from './polls.ts'

/** How long progress is gathered before it is written, and workers that leave before they are removed. */
const gatherMs = 25
/** Scans for executions that workers do not name may use at most 2 % of wall time; see the sweeper. */
const share = 0.02

export interface WorkerSessionsOptions {
  database: Database
  liveness: WorkerLiveness
  nodeId: string
  dispatcher: Dispatcher
  completion: Completion
  signals: Signals
  clock: Clock
  logger: Logger
  times: WorkerTimes
  maxWaiting: number
  /** Pools that a tenant may have. */
  maxPools: number
  /** Milliseconds; for tests. */
  monotonic?: () => number
}

/** What the installation expects of workers. */
export type WorkerTimes = Required<
  Pick<RegistrationAnswer, 'heartbeatEveryMs' | 'suspectAfterMs' | 'lostAfterMs' | 'logEveryMs'>
>

export interface PollAnswer {
  /** JSON texts with commas between them. */
  executions: LeasedText
  cancellations: Cancellation[]
  /** The node stops: the worker should use another. */
  closing: boolean
}

export class WorkerSessions implements Service {
  readonly times: WorkerTimes
  readonly maxPools: number
  readonly #options: WorkerSessionsOptions
  readonly #known: KnownWorkers
  readonly #polls: Polls
  readonly #comparison: HeldComparison
  /** Of all workers of this node. [m] 2,000 workers, each with a call of its own: drains of others fell to 0.36. */
  readonly #progress: Batcher<ProgressNews, true>
  readonly #lines: LineWriter
  readonly #leaving: Batcher<string, true>
  readonly #looks: TimeBudget
  readonly #watch: Loop
  #unsubscribe = () => {}

  constructor(options: WorkerSessionsOptions) {
    const { database, liveness, nodeId, completion, dispatcher, times } = options
    this.#options = options
    this.times = times
    this.maxPools = options.maxPools
    this.#known = new KnownWorkers({
      ...{ database, liveness, nodeId, heartbeatEveryMs: times.heartbeatEveryMs, maxPools: options.maxPools },
      ...{ suspectMs: times.suspectAfterMs, lostMs: times.lostAfterMs },
      onLive: ({ pools }) => {
        for (const { pool } of pools) dispatcher.wake(pool)
      },
    })
    // What a worker left out of two heartbeats is handed back soon after the second, also after a look that took seconds.
    this.#looks = new TimeBudget({ share, longestPauseMs: times.heartbeatEveryMs, monotonic: options.monotonic })
    this.#polls = new Polls({ max: options.maxWaiting })
    this.#comparison = new HeldComparison({ database, completion, see: (ids) => this.#known.see(ids) })
    this.#progress = new Batcher({ maxItems: () => 1_000, gatherMs, flush: (news) => this.#store(news) })
    this.#lines = new LineWriter(options)
    this.#leaving = new Batcher({ maxItems: () => 1_000, gatherMs, flush: (workerIds) => this.#remove(workerIds) })
    this.#watch = new Loop({
      name: 'watch over workers',
      everyMs: this.#known.watchEveryMs,
      logger: options.logger,
      runOnce: async () => {
        this.#polls.prune()
        await this.#known.watch()
        await this.compareHeldSparingly()
      },
    })
  }

  async start(): Promise<void> {
    this.#unsubscribe = this.#options.signals.subscribe((signal) => {
      if (signal.kind !== 'CANCEL') return
      const { workerId, executionId, fence, reason } = signal
      this.#polls.cancelled(workerId, { executionId, fence, reason })
    })
    await this.#watch.start()
  }

  async stop(): Promise<void> {
    this.closePolls()
    this.#unsubscribe()
    await this.#watch.stop()
  }

  /** Answers all waiting workers at once, so that they use other nodes. */
  closePolls(): void {
    this.#polls.close()
  }

  /** `owner`: the tenant whose worker it is; null: the installation's. Throws POOL_NOT_YOURS or WORKER_UNKNOWN. */
  async register(worker: WorkerRegistration, owner: string | null = null): Promise<void> {
    await this.#known.register(worker, owner)
  }

  /** Null: neither this node nor the database knows such a worker of this owner. */
  find(workerId: string, owner: string | null): Promise<KnownWorker | null> {
    return this.#known.find(workerId, owner)
  }

  require(workerId: string, owner: string | null): Promise<KnownWorker> {
    return this.#known.require(workerId, owner)
  }

  /** The workers that have called this node lately. */
  workerIds(): string[] {
    return this.#known.ids()
  }

  mayLease(workerId: string): boolean {
    return this.#known.mayLease(workerId)
  }

  /** For a worker in this process: it hears of cancellations by `onCancel`. */
  lease(request: LeaseRequest, signal: AbortSignal): Promise<LeasedText> {
    return this.#options.dispatcher.lease(request.pool, request, signal)
  }

  /** For a remote worker: cancellations come with the answer. `gone`: its connection was closed. */
  async poll(request: LeaseRequest, owner: string | null, gone: AbortSignal): Promise<PollAnswer> {
    const { workerId } = request
    const pool = await this.#known.requireServing(workerId, owner, request.pool)
    const poll = this.#polls.open(workerId, pool, owner, gone)
    try {
      const demand = { ...request, enough: poll.enough }
      const executions = await this.#options.dispatcher.lease(pool, demand, poll.over)
      if (poll.over.aborted) {
        this.undelivered(executions)
        return { executions: '', cancellations: [], closing: this.#polls.closed }
      }
      return { executions, cancellations: this.#polls.take(workerId), closing: this.#polls.closed }
    } finally {
      poll.close()
    }
  }

  /** With an owner, what is another tenant's is refused. */
  async report(said: WorkerReport, owner: string | null = null): Promise<ReportAnswer> {
    const { database, clock } = this.#options
    const at = clock.now()
    const actor = `worker:${said.workerId}`
    if (said.outcomes.some((o) => o.outcome === 'HANDED_BACK' && o.reason === 'UNKNOWN_HANDLER')) {
      for (const pool of this.#known.poolsOf(said.workerId, owner)) this.#options.dispatcher.yieldToOthers(pool)
    }
    const foreign = owner === null ? nobody : await readForeign(database, idsIn(said), owner)
    if (owner !== null && foreign.size > 0) await this.#noteForged(said, owner, foreign)
    const isOwn = ({ executionId }: HeldExecution) => !foreign.has(executionId)
    const news = { began: said.began.filter(isOwn), progress: said.progress.filter(isOwn) }
    const { lines: logged = [] } = said
    const [verdicts, begun, lines] = await Promise.all([
      this.#end(foreign === nobody ? said.outcomes : said.outcomes.filter(isOwn), actor),
      news.began.length > 0 ? beginHandlers(database, news.began) : nobody,
      this.#lines.write(said.workerId, logged, isOwn),
      this.#progress.addAll(news.progress),
      said.held === null ? this.#known.heard(said.workerId, owner) : null,
    ])
    let next = 0
    const outcomes =
      foreign === nobody ? verdicts : said.outcomes.map((each) => (isOwn(each) ? verdicts[next++]! : 'REFUSED'))
    const newest = new Map<string, number>()
    for (const { executionId, fence } of news.began) {
      newest.set(executionId, Math.max(fence, newest.get(executionId) ?? 0))
    }
    const began = said.began.map(
      ({ executionId, fence }): ReportVerdict =>
        begun.has(executionId) && fence === newest.get(executionId) ? 'ACCEPTED' : 'REFUSED',
    )
    // After the outcomes: what they end is not compared any more.
    const { held: named, outcomes: told } = said
    const compared = named === null ? nothing : await this.#comparison.compare(said.workerId, { named, told, at })
    return { serverTime: clock.now(), outcomes, began, ...(logged.length > 0 && { lines }), ...compared }
  }

  /** Audited for the tenant of the token and for the installation; the other tenant learns nothing. */
  async #noteForged(said: WorkerReport, owner: string, foreign: ReadonlySet<string>): Promise<void> {
    const outcomes = new Map(said.outcomes.map(({ executionId, outcome }) => [executionId, outcome as string]))
    const forged = [...said.outcomes, ...newsIn(said)].filter(({ executionId }) => foreign.has(executionId))
    const refusals = forged.map(({ executionId, fence }) => ({
      ...{ actor: `worker:${said.workerId}`, subject: executionId },
      detail: { fence, tenant: owner, outcome: outcomes.get(executionId) ?? null },
    }))
    const both = [owner, null].flatMap((tenant) => refusals.map((refusal) => ({ tenant, ...refusal })))
    await noteRefusals(this.#options.database, 'execution.report_forged', both)
  }

  async #store(news: ProgressNews[]): Promise<true[]> {
    const newest = new Map(news.map((each) => [each.executionId, each]))
    const { bad, stoppedBy } = await bisect([...newest.values()], {
      work: (part) => storeProgress(this.#options.database, part),
      isOwn: isOfData,
    })
    if (stoppedBy) throw stoppedBy.error
    for (const { item, error } of bad) {
      this.#options.logger.error(
        { err: error, executionId: item.executionId },
        'progress cannot be stored; it is left out',
      )
    }
    return news.map(() => true)
  }

  #end(outcomes: ReportedOutcome[], actor: string): Promise<ReportVerdict[]> {
    return this.#options.completion.endAll(
      outcomes.map((said) => ({ executionId: said.executionId, fence: said.fence, actor, from: 'WORKER', said })),
    )
  }

  async deregister(workerId: string): Promise<void> {
    this.#polls.endAll(workerId)
    await this.#leaving.add(workerId)
    this.#comparison.forget(workerId)
  }

  /** What it holds is handed back. */
  async #remove(workerIds: string[]): Promise<true[]> {
    const { database, completion } = this.#options
    const held = await readUnnamed(database, workerIds, [])
    await completion.endAll(
      held.map(({ executionId, fence, workerId, began }) => ({
        ...{ executionId, fence, actor: `worker:${workerId}`, from: 'NODE' },
        said: { outcome: 'HANDED_BACK', reason: 'SHUTDOWN', began },
      })),
    )
    await this.#known.remove(workerIds)
    return workerIds.map(() => true)
  }

  /** Runs one scan: hands back what workers have left out twice. */
  compareHeld(): Promise<void> {
    return this.#comparison.handBackOmitted()
  }

  /** The same, if the time budget allows it. */
  async compareHeldSparingly(): Promise<void> {
    if (this.#looks.pauseMs === 0) await this.#looks.spend(() => this.compareHeld())
  }

  onCancel(workerId: string, listener: (cancellation: Cancellation) => void): () => void {
    return this.#options.signals.subscribe((signal) => {
      if (signal.kind !== 'CANCEL' || signal.workerId !== workerId) return
      listener({ executionId: signal.executionId, fence: signal.fence, reason: signal.reason })
    })
  }

  /** Leases whose worker was gone when they arrived. */
  undelivered(executions: LeasedText): void {
    for (const { executionId, fence } of leasedExecutions(executions)) {
      const said = { outcome: 'HANDED_BACK', reason: 'UNDELIVERED', began: false } as const
      // If this fails too, the sweeper finds that its worker does not name it.
      this.#options.completion.end({ executionId, fence, actor: 'node', from: 'NODE', said }).catch(() => {})
    }
  }
}

const nothing = { cancellations: [], lost: [] }
const nobody: ReadonlySet<string> = new Set()

function newsIn({ began, progress, lines = [] }: WorkerReport): HeldExecution[] {
  return [...began, ...progress, ...lines]
}

function idsIn(said: WorkerReport): string[] {
  return [...said.outcomes, ...newsIn(said)].map(({ executionId }) => executionId)
}
