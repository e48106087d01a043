/** What the worker and an isolated handler say to each other. Every message is structured-cloneable. */
import type { AbortCode } from '../../errors.ts'
import type { Failure } from '../reporting/reported-error.ts'
import type { ExecutionFacts } from '../running/context.ts'

/** What a thread or process is told when it is made. */
export interface ChildSetup {
  module: string
  completeInModule: string | null
}

/** `run` numbers the executions of one thread or process: a message of an earlier one is out of date. */
export type ToChild =
  | { type: 'RUN'; run: number; facts: ExecutionFacts; payload: unknown; deadlineMs: number; serverNow: number }
  | { type: 'ABORT'; run: number; code: AbortCode; message: string }

export type FromChild =
  | { type: 'HEARTBEAT'; run: number; progress: string | undefined }
  | { type: 'LOG'; run: number; line: string }
  | { type: 'RETURNED'; run: number; result: string | null; completedInTransaction: boolean; signalSeen: boolean }
  | { type: 'FAILED'; run: number; failure: Failure }
