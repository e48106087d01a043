import type { Clock, Logger } from '@carillon/contract/process'
import type { CompleteIn } from './running/held-context.ts'
import type { RegisteredHandler } from './running/registered-handler.ts'
import type { Transport } from './transport.ts'

export interface WorkerOptions {
  transport: Transport
  handlers: RegisteredHandler[]
  /** For people; host and process id unless given. */
  name?: string
  /** A random one unless given. Two live workers must not share it. */
  workerId?: string
  clock?: Clock
  /** Executions held per pool beyond its slots. Unless given it follows the pool's speed. */
  prefetch?: number
  /** How long a lease request waits for work. */
  leaseWaitMs?: number
  /** What the installation asks for unless given. */
  reportEveryMs?: number
  /** How long `stop` waits for running handlers before it aborts them. */
  drainSec?: number
  /** What `ctx.completeIn` calls. */
  completeIn?: CompleteIn
  /** For isolated handlers: a module that exports `completeIn`. */
  completeInModule?: string
  logger?: Logger
}

/** Those of a worker over HTTP; the rest is for custom transports. */
export const workerOptionNames = [
  ...['handlers', 'name', 'workerId', 'clock', 'prefetch', 'leaseWaitMs', 'drainSec', 'completeIn', 'completeInModule'],
  'logger',
] as readonly Exclude<keyof WorkerOptions, 'transport' | 'reportEveryMs'>[]

/**
 * Whether a worker does its work. One that is alive but gets no answers to its requests does not: after
 * half a minute without an answer it is not healthy.
 */
export interface WorkerHealth {
  healthy: boolean
  /** Since a lease was answered, also with nothing; null: none was yet. A full worker asks for nothing but cancellations. */
  lastLeaseAnswerMs: number | null
  /** Since a report was answered; null: none was yet. */
  lastReportMs: number | null
  /** Why it is not healthy. */
  reason?: string
}

export interface WorkerStats {
  prefetched: number
  running: number
  reporting: number
  /** Handlers that go on although their attempt is over. */
  runaways: number
  /** Outcomes refused because the lease was lost, since the start. */
  refused: number
}
