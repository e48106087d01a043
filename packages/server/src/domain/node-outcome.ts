/** How a node itself ends an attempt whose worker does not report. */
export type NodeOutcome =
  | { outcome: 'WORKER_LOST'; began: boolean }
  | { outcome: 'TIMED_OUT'; began: boolean }
  | { outcome: 'HANDED_BACK'; reason: 'NOT_NAMED' | 'UNDELIVERED' | 'SHUTDOWN'; began: boolean }
