/**
 * The interface between a worker and a node. The same worker runs over HTTP (a remote node) and over direct calls (library mode);
 * what must stay true of both:
 *
 * - A leased execution is the worker's until it reported an outcome that was answered, or lost it. Every report names
 *   the fence of its lease; a report with an old fence is REFUSED and changes nothing.
 * - A report repeated after a lost answer gets the first answer again, so a worker repeats until it is answered.
 * - A report is also the heartbeat: it names everything the worker holds.
 */
import type {
  Cancellation,
  HeldExecution,
  LeasedExecution,
  LeaseInput,
  OutcomeInput,
  RegistrationAnswer,
  ReportAnswer,
  ReportedError,
  ReportInput,
  LeaseAnswer as WireLeaseAnswer,
  WorkerRegistration as WireWorkerAnnouncement,
} from '@carillon/contract'

export type {
  Cancellation,
  HeldExecution,
  LeasedExecution,
  PoolRegistration,
  ReportAnswer,
  ReportedError,
  ReportVerdict,
} from '@carillon/contract'

export interface Transport {
  /** Registers the worker. Repeatable; the same `workerId` replaces the earlier registration. */
  register(worker: WorkerRegistration): Promise<WorkerTimes>
  /** Waits up to `waitMs` for executions of the worker's pools. An empty answer is normal. */
  lease(request: LeaseRequest, signal: AbortSignal): Promise<LeaseAnswer>
  report(report: WorkerReport): Promise<ReportAnswer>
  /** The worker is leaving. What it still holds is handed back. */
  deregister(workerId: string): Promise<void>
  /** Calls `listener` as soon as an execution held by the worker should stop. Best effort; reports bring the same. */
  onCancel(workerId: string, listener: (cancellation: Cancellation) => void): () => void
  /** When a request that waited for cancellations alone was answered, on the worker's clock; if it has such requests. */
  readonly watchAnsweredAt?: number
  /** Hands back what the worker holds and removes it. The last call of a worker. */
  close?(): Promise<void>
}

/** What the installation expects of a worker. */
export type WorkerTimes = Pick<RegistrationAnswer, 'heartbeatEveryMs' | 'logEveryMs'>

/** A worker gives itself an id, so that it can register again after a lost answer. */
export type WorkerRegistration = Required<WireWorkerAnnouncement>

export type LeaseRequest = Required<LeaseInput> & { workerId: string }

/** Cancellations come by `onCancel`. */
export interface LeaseAnswer extends Pick<WireLeaseAnswer, 'serverTime'> {
  executions: LeasedExecution[]
}

/** Results and progress are JSON text here: already written and measured, they are not written a second time. */
export interface WorkerReport extends Required<Pick<ReportInput, 'began' | 'held'>> {
  workerId: string
  outcomes: ReportedOutcome[]
  /** The newest progress of each execution that called `heartbeat` since the last report. */
  progress: (HeldExecution & { progress: string | null })[]
  /** What handlers that go on have logged since the last report. */
  lines?: ReportedLines[]
}

/** `from`: how many lines were logged under this fence before these. */
export type ReportedLines = NonNullable<ReportInput['lines']>[number]

type HandedBack = Extract<OutcomeInput, { outcome: 'HANDED_BACK' }>
type TimedOut = Extract<OutcomeInput, { outcome: 'TIMED_OUT' }>

/** NO_FREE_SLOT: the tenant has its share of the built-in worker already. It is not said over the network. */
export type HandBackReason = NonNullable<HandedBack['reason']> | 'NO_FREE_SLOT'

/** What the worker fills in, though the wire lets it be left out. */
type FilledIn = 'startedAt' | 'finishedAt' | 'result' | 'reason'
type AsText<O> = {
  [F in keyof O]: F extends 'result' | 'progress' ? string | null : F extends 'reason' ? HandBackReason : O[F]
}
type Reported<O> = O extends OutcomeInput ? AsText<O> & Required<Pick<AsText<O>, keyof O & FilledIn>> : never

/** How one execution ended: the wire's `OutcomeInput` with everything filled in and JSON as text. */
export type ReportedOutcome =
  | Reported<Exclude<OutcomeInput, TimedOut>>
  | (Reported<TimedOut> & { error: ReportedError })
