import { encodeJson } from '../json.ts'
import type { LeasedExecution } from './transport.ts'

/** What a handler is given. It may be taken apart and spread. */
export interface HandlerContext<Payload = unknown, Returned = unknown> {
  /** As the handler's schema gave it out. */
  readonly payload: Payload
  /** Stable over all attempts: the idempotency key for effects elsewhere. */
  readonly executionId: string
  readonly jobId: string
  readonly tenant: string
  /** 1 for the first try. */
  readonly attempt: number
  readonly maxAttempts: number
  /** Grows with every lease: whoever stores it can refuse a writer with a smaller one. */
  readonly fence: number
  /** The nominal time of the occurrence. */
  readonly scheduledFor: Date
  readonly dueAt: Date
  /** When this attempt is aborted: its timeout, or the deadline over all attempts if that is sooner. */
  readonly deadline: Date
  /** Aborts when the attempt should stop; its `reason` is an AbortReason with the code. */
  readonly signal: AbortSignal
  /** How long it has to stop after that before the execution is taken from it. */
  readonly cancelGraceSec: number
  /** The progress the previous attempt stored last, or null. */
  readonly lastProgress: unknown
  readonly labels: Readonly<Record<string, string>>
  /** W3C trace context of whoever created the work. */
  readonly traceparent: string | null
  /** The settings of a built-in target; null in a worker's own handler. */
  readonly target: unknown
  /** Says that the handler is alive and stores how far it came, for watchers and for the next attempt. */
  heartbeat(progress?: unknown): void
  /** Keeps a line with the attempt: up to 1,000 lines or 64 KiB. */
  log(line: string): void
  /** The installation's time, the same on every worker. */
  now(): Date
  /**
   * Completes the execution inside the handler's own PostgreSQL transaction, or throws if the fence is old. It holds if
   * and only if that transaction commits. What the handler returns afterwards is ignored.
   */
  completeIn(tx: unknown, result?: Returned): Promise<void>
}

/** The facts of an execution that its handler may know. */
export type ExecutionFacts = Omit<
  LeasedExecution,
  'payload' | 'pool' | 'handler' | 'announceStart' | 'heartbeatTimeoutSec' | 'timeoutSec' | 'deadlineAt'
>

/** What stands behind a context: the held execution in this process, or the link to the parent in an isolated one. */
export interface ContextHost {
  readonly signal: AbortSignal
  readonly deadlineMs: number
  /** `progress` is JSON text; undefined is a sign of life only. */
  heartbeat(progress: string | undefined): void
  log(line: unknown): void
  serverNow(): number
  completeIn(tx: unknown, result: unknown): Promise<void>
}

/**
 * Own properties throughout, so that it can be taken apart and spread. Only the signal is made when it is asked for: an
 * accessor costs 1 µs, an AbortController more.
 */
export function createContext(facts: ExecutionFacts, payload: unknown, host: ContextHost): HandlerContext {
  return {
    payload,
    executionId: facts.executionId,
    jobId: facts.jobId,
    tenant: facts.tenant,
    attempt: facts.attempt,
    maxAttempts: facts.maxAttempts,
    fence: facts.fence,
    labels: facts.labels,
    traceparent: facts.traceparent,
    target: facts.target,
    cancelGraceSec: facts.cancelGraceSec,
    scheduledFor: new Date(facts.scheduledFor),
    dueAt: new Date(facts.dueAt),
    deadline: new Date(host.deadlineMs),
    lastProgress: facts.lastProgress,
    get signal() {
      return host.signal
    },
    heartbeat: (progress) => host.heartbeat(progress === undefined ? undefined : encodeJson(progress, 'progress')),
    log: (line) => host.log(line),
    now: () => new Date(host.serverNow()),
    completeIn: (tx, result) => host.completeIn(tx, result),
  }
}
