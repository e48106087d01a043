/**
 * Status reads: the state of one execution, asked at a high rate by callers that wait for it.
 *
 * Model. The ledger and the queues in PostgreSQL hold the state of an execution. A version may answer from a copy that follows
 * them. Lists, filters and logs are read from the store.
 *
 * Trust window. An answer of `find` is at most `maxAgeMs` old; 0: it is what PostgreSQL had after the question was asked. A caller that
 * decides by the answer, or shows what it has just changed, asks `findCurrent`, which is never older than the question.
 *
 * What may fail. Every call may reject, for infrastructure trouble only; an execution that is not there is null. A copy that
 * is lost or cannot be reached is passed over: PostgreSQL answers everything without it.
 *
 * What must stay true: an end that was answered stays the answer until a person replays the execution. What `ended` names,
 * `find` answers as ended. An execution of another tenant is as unknown as one that never was.
 */
import type { ExecutionKey, ExecutionRecord } from '../store/executions/read.ts'

export type { ExecutionKey, ExecutionRecord }

export interface StatusReads {
  /** No answer of `find` is older than this. */
  readonly maxAgeMs: number
  find(key: ExecutionKey): Promise<ExecutionRecord | null>
  findCurrent(key: ExecutionKey): Promise<ExecutionRecord | null>
  /** Which of these have ended, or were cancelled before they fired. */
  ended(executionIds: string[]): Promise<Set<string>>
}
