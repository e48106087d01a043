/**
 * A node in memory for tests of the worker: executions are offered, reports recorded, and faults said beforehand. It
 * keeps the rules of the transport (fences, repeated reports, lost leases) so that a worker that breaks them shows.
 */
import { defaults } from '@carillon/contract'
import type {
  Cancellation,
  HeldExecution,
  LeaseAnswer,
  LeasedExecution,
  LeaseRequest,
  ReportAnswer,
  ReportedOutcome,
  Transport,
  WorkerRegistration,
  WorkerReport,
  WorkerTimes,
} from '../transport.ts'

let nextFence = 1

export function execution(fields: Partial<LeasedExecution> = {}): LeasedExecution {
  const fence = nextFence++
  return {
    executionId: `e${fence}`,
    jobId: `j${fence}`,
    tenant: defaults.tenant,
    pool: defaults.pool,
    handler: 'test',
    attempt: 1,
    maxAttempts: 4,
    fence,
    scheduledFor: 0,
    dueAt: 0,
    timeoutSec: 60,
    deadlineAt: null,
    heartbeatTimeoutSec: null,
    cancelGraceSec: 10,
    announceStart: false,
    payload: null,
    lastProgress: null,
    labels: {},
    traceparent: null,
    target: null,
    ...fields,
  }
}

export class ScriptedTransport implements Transport {
  readonly announcements: WorkerRegistration[] = []
  readonly leases: LeaseRequest[] = []
  readonly reports: WorkerReport[] = []
  readonly outcomes = new Map<string, ReportedOutcome>()
  readonly deregistered: string[] = []
  /** Fences whose outcome or start is refused. */
  readonly refusedFences = new Set<number>()
  /** Told once, with the next answer. */
  lost: HeldExecution[] = []
  cancellations: Cancellation[] = []
  /** How many of the next calls fail, before anything happens or after all was done. */
  failLeases = 0
  failRegisters = 0
  failReports = 0
  loseAnswers = 0
  /** Undefined: a node of a version that takes log lines with the outcome only. */
  logEveryMs: number | undefined = 1_000
  serverNow = () => performance.timeOrigin + performance.now()
  readonly #ready: LeasedExecution[] = []
  readonly #waitingLeases = new Set<() => void>()
  readonly #watchers = new Set<() => void>()
  readonly #listeners = new Map<string, (cancellation: Cancellation) => void>()

  get listeners(): number {
    return this.#listeners.size
  }

  get waitingLeases(): number {
    return this.#waitingLeases.size
  }

  offer(...executions: LeasedExecution[]): void {
    this.#ready.push(...executions)
    for (const wake of [...this.#waitingLeases]) wake()
  }

  cancel(cancellation: Cancellation): void {
    for (const listener of this.#listeners.values()) listener(cancellation)
  }

  /** Resolves when `condition` holds; it is looked at after everything that happens here. */
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!condition()) return
        this.#watchers.delete(look)
        resolve()
      }
      this.#watchers.add(look)
      look()
    })
  }

  async outcomeOf({ executionId }: LeasedExecution): Promise<ReportedOutcome> {
    await this.until(() => this.outcomes.has(executionId))
    return this.outcomes.get(executionId)!
  }

  async register(worker: WorkerRegistration): Promise<WorkerTimes> {
    if (this.failRegisters-- > 0) throw new Error('no node there')
    this.announcements.push(worker)
    this.#happened()
    return { heartbeatEveryMs: 5_000, logEveryMs: this.logEveryMs }
  }

  async lease(request: LeaseRequest, signal: AbortSignal): Promise<LeaseAnswer> {
    this.leases.push(request)
    this.#happened()
    if (this.failLeases-- > 0) throw new Error('no node there')
    const isMine = ({ pool }: LeasedExecution) => pool === request.pool
    if (!this.#ready.some(isMine)) await this.#wait(request.waitMs, signal)
    const executions: LeasedExecution[] = []
    for (let at = 0; at < this.#ready.length && executions.length < request.slots + request.prefetch; ) {
      if (isMine(this.#ready[at]!)) executions.push(...this.#ready.splice(at, 1))
      else at++
    }
    this.#happened()
    return { executions, serverTime: this.serverNow() }
  }

  async report(report: WorkerReport): Promise<ReportAnswer> {
    this.reports.push(structuredClone(report))
    this.#happened()
    await Promise.resolve()
    if (this.failReports-- > 0) throw new Error('the node is away')
    const verdict = ({ fence }: HeldExecution) => (this.refusedFences.has(fence) ? 'REFUSED' : 'ACCEPTED')
    for (const outcome of report.outcomes) {
      const { executionId } = outcome
      if (verdict(outcome) === 'ACCEPTED' && !this.outcomes.has(executionId)) this.outcomes.set(executionId, outcome)
    }
    this.#happened()
    if (this.loseAnswers-- > 0) throw new Error('the answer was lost')
    const { lost, cancellations } = this
    this.lost = []
    this.cancellations = []
    return {
      serverTime: this.serverNow(),
      outcomes: report.outcomes.map(verdict),
      began: report.began.map(verdict),
      ...(report.lines && { lines: report.lines.map(({ from, lines }) => from + lines.length) }),
      cancellations,
      lost,
    }
  }

  async deregister(workerId: string): Promise<void> {
    this.deregistered.push(workerId)
    this.#happened()
  }

  onCancel(workerId: string, listener: (cancellation: Cancellation) => void): () => void {
    this.#listeners.set(workerId, listener)
    return () => this.#listeners.delete(workerId)
  }

  #wait(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        this.#waitingLeases.delete(done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal.addEventListener('abort', done)
      this.#waitingLeases.add(done)
      if (signal.aborted) done()
      this.#happened()
    })
  }

  #happened(): void {
    for (const look of [...this.#watchers]) look()
  }
}
