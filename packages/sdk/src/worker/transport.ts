/**
 * How a worker speaks to a node. The same worker runs over HTTP (a remote node) and over direct calls (library mode);
 * what must stay true on both ways:
 *
 * - A leased execution is the worker's until it reported an outcome that was answered, or lost it. Every report names
 *   the fence of its lease; a report with an old fence is REFUSED and changes nothing.
 * - A report repeated after a lost answer gets the first answer again, so a worker repeats until it is answered.
 * - A report is also the heartbeat: it names everything the worker holds.
 */
export interface Transport {
  /** Announces the worker. Repeatable; the same `workerId` replaces what was announced before. */
  register(worker: WorkerAnnouncement): Promise<WorkerTimes>
  /** Waits up to `waitMs` for executions of the worker's pools. An empty answer is normal. */
  lease(request: LeaseRequest, signal: AbortSignal): Promise<LeaseAnswer>
  report(report: WorkerReport): Promise<ReportAnswer>
  /** The worker is leaving. What it still holds is handed back. */
  deregister(workerId: string): Promise<void>
  /** Calls `listener` as soon as an execution held by the worker should stop. Best effort; reports bring the same. */
  onCancel(workerId: string, listener: (cancellation: Cancellation) => void): () => void
  /** When a request that waited for cancellations alone was answered, on the worker's clock; if it has such requests. */
  readonly watchAnsweredAt?: number
  /** Lets go of what it holds. The worker calls it at its end. */
  close?(): Promise<void>
}

/** What the installation expects of a worker. */
export interface WorkerTimes {
  /** How often to report what is held. */
  heartbeatEveryMs: number
}

export interface WorkerAnnouncement {
  workerId: string
  name: string
  pools: PoolAnnouncement[]
}

export interface PoolAnnouncement {
  pool: string
  handlers: string[]
  slots: number
}

export interface LeaseRequest {
  workerId: string
  pool: string
  /** Executions that can start at once. */
  slots: number
  /** Executions taken beyond that, to be held ready for the next free slot. */
  prefetch: number
  waitMs: number
}

export interface LeaseAnswer {
  executions: LeasedExecution[]
  /** The installation's clock, milliseconds since 1970, when the answer was made. */
  serverTime: number
}

export interface LeasedExecution {
  executionId: string
  jobId: string
  tenant: string
  pool: string
  handler: string
  /** 1 for the first try. */
  attempt: number
  maxAttempts: number
  fence: number
  /** Milliseconds since 1970, as all times here. */
  scheduledFor: number
  dueAt: number
  timeoutSec: number
  /** End of all attempts, if the job has a deadline. */
  deadlineAt: number | null
  heartbeatTimeoutSec: number | null
  cancelGraceSec: number
  /** With AT_MOST_ONCE the worker announces the start and waits for the answer before the handler begins. */
  announceStart: boolean
  payload: unknown
  /** The last progress of the previous attempt, or null. */
  lastProgress: unknown
  labels: Record<string, string>
  traceparent: string | null
  /** The settings of a built-in target; null for a worker's own handler. */
  target: unknown
}

export interface HeldExecution {
  executionId: string
  fence: number
}

/** Results and progress are JSON text here: already written and measured, they are not written a second time. */
export interface WorkerReport {
  workerId: string
  outcomes: ReportedOutcome[]
  /** Executions taken beyond the free slots whose handler has begun meanwhile. */
  began: HeldExecution[]
  /** JSON text of the newest progress, per execution that called `heartbeat` since the last report. */
  progress: (HeldExecution & { progress: string | null })[]
  /** Everything the worker holds, when this report is also a heartbeat; null otherwise. */
  held: HeldExecution[] | null
}

export type ReportedOutcome = HeldExecution & {
  startedAt: number | null
  finishedAt: number
  log?: string[]
} & (
    | { outcome: 'SUCCEEDED'; result: string | null }
    | { outcome: 'FAILED'; error: ReportedError; retryAfterMs?: number; neverAgain?: boolean; progress?: string | null }
    | { outcome: 'TIMED_OUT'; error: ReportedError; progress?: string | null }
    | { outcome: 'CANCELLED'; error?: ReportedError }
    | { outcome: 'HANDED_BACK'; reason: HandBackReason; progress?: string | null }
    /** The handler called `completeIn`: the result is already on the row, in the handler's own transaction. */
    | { outcome: 'COMPLETED_IN_TRANSACTION' }
    /** Somebody else will report the end under the same fence: it stays RUNNING, and no worker holds it. */
    | { outcome: 'DEFERRED' }
  )

export type HandBackReason = 'SHUTDOWN' | 'UNKNOWN_HANDLER' | 'NOT_STARTED' | 'NO_FREE_SLOT'

export interface ReportedError {
  name: string
  message: string
  stack?: string
}

export type ReportVerdict =
  /** Taken over, now or by an earlier copy of the same report. */
  | 'ACCEPTED'
  /** The fence is too old: the execution is another attempt's. Nothing was changed; the refusal is on record. */
  | 'REFUSED'
  /** Another transaction holds the execution at this moment. Nothing was changed; report it again. */
  | 'BUSY'

export interface ReportAnswer {
  serverTime: number
  /** In the order of `outcomes`. */
  outcomes: ReportVerdict[]
  /** In the order of `began`. A refused start must not happen. */
  began: ReportVerdict[]
  cancellations: Cancellation[]
  /** Held according to the worker but not according to the installation: stop them, their outcome will be refused. */
  lost: HeldExecution[]
}

export type Cancellation = HeldExecution & { reason: 'CANCELLED' | 'TIMED_OUT' | 'LEASE_LOST' }
