/** The words of Carillon, the same in SQL, TypeScript, HTTP and docs. */

export const priorities = ['CRITICAL', 'HIGH', 'NORMAL', 'LOW'] as const
export type Priority = (typeof priorities)[number]

export const jobTypes = ['ONE_SHOT', 'DELAYED', 'CRON', 'INTERVAL'] as const
export type JobType = (typeof jobTypes)[number]

export const jobStates = ['ACTIVE', 'PAUSED', 'COMPLETED', 'DELETED'] as const
export type JobState = (typeof jobStates)[number]

export const origins = ['SCHEDULE', 'TRIGGER', 'BACKFILL', 'SUBMIT', 'DAG'] as const
export type Origin = (typeof origins)[number]

export const overlapPolicies = ['ALLOW', 'FORBID', 'QUEUE_ONE', 'REPLACE'] as const
export type OverlapPolicy = (typeof overlapPolicies)[number]

export const misfirePolicies = ['FIRE_ONCE', 'FIRE_ALL', 'SKIP'] as const
export type MisfirePolicy = (typeof misfirePolicies)[number]

export const deliveries = ['AT_LEAST_ONCE', 'AT_MOST_ONCE'] as const
export type Delivery = (typeof deliveries)[number]

export const backoffs = ['EXPONENTIAL', 'LINEAR', 'FIXED'] as const
export type Backoff = (typeof backoffs)[number]

export const isolations = ['NONE', 'THREAD', 'PROCESS'] as const
export type Isolation = (typeof isolations)[number]

/** What an occurrence does in an hour that does not exist (`gap`) or exists twice (`overlap`). */
export interface DstPolicy {
  gap: 'SHIFT' | 'SKIP'
  overlap: 'FIRST' | 'SECOND' | 'BOTH'
}

export interface RetryPolicy {
  /** Tries in all; the first one counts. */
  maxAttempts: number
  backoff: Backoff
  initialDelayMs: number
  factor: number
  maxDelayMs: number
  /** Share of the delay, 0 to 1, of which a random part is added. */
  jitter: number
  /** Explicit delays, used instead of `backoff`; the last one repeats. */
  delaysMs?: number[]
  /** Names of errors that end the execution at once. */
  nonRetryableErrors?: string[]
}
