/**
 * What happened, as the checkers see it: the ledger, what jobs were over time, and what clients and workers wrote down
 * themselves. The simulator and the chaos runs both end in one of these. Times are milliseconds since 1970, by the
 * installation's clock.
 */

export interface History {
  /** The observed time. */
  from: number
  to: number
  /** The whole ledger. */
  executions: LedgerRow[]
  /** Every run of a graph, and of the items of a list. Its steps are executions of the ledger. */
  dagRuns: DagRunRow[]
  /** Signals that clients have sent to steps that wait for one. */
  signals: Signal[]
  /** Jobs that follow another one by its id, as they were created. */
  followers: Follower[]
  /** What each recurring job was, span by span, without gaps from its creation on. */
  spans: JobSpan[]
  /** Submissions, triggers and runs of graphs that were answered: they must be in the ledger. */
  acknowledged: Acknowledged[]
  /** What the workers wrote down, in the order of each worker. Every handler writes down its runs. */
  runs: Run[]
  /** Every lease that was given, if somebody saw them all. */
  leases: Lease[] | null
  /** Workers that died for good while nothing but the sweeping node was disturbed; empty unless somebody saw to that. */
  silenced: Silenced[]
  /** When and how the installation was disturbed. Outside of these it counts as healthy, after the time given here. */
  troubles: Trouble[]
  /** So long after a trouble it may still be felt. */
  recoveryMs: number
  /** So far apart may the clock of whoever wrote down a run and the installation's be. */
  slackMs: number
  /** What is promised while healthy. */
  bounds: Bounds
}

export interface Bounds {
  /** From due to fired. */
  fireMs: number
  /** From due to the handler's start, where neither a retry nor an overlap policy makes it wait. */
  startMs: number
  /** From the last moment at which a worker can have been heard until its leases are ended. */
  lostMs: number
}

export interface LedgerRow {
  executionId: string
  /** Of a submission, its execution id. */
  jobId: string
  /** Null for submissions and one-shots. */
  jobVersion: number | null
  tenant: string
  handler: string
  origin: string
  scheduledFor: number
  dueAt: number
  firedAt: number
  /** What it shows: an end, or the place it stands in. */
  state: string
  reason: string | null
  attempt: number
  maxAttempts: number
  delivery: 'AT_LEAST_ONCE' | 'AT_MOST_ONCE'
  /** Limits of concurrency that count it: by which key, and how many they allow. They do not change while it is watched. */
  limits: readonly { key: string; concurrency: number }[]
  /** Of the last attempt that was reported. */
  startedAt: number | null
  finishedAt: number | null
  /** Of the last attempt that was reported. */
  fence: number | null
  skippedLast: number | null
  skippedCount: number | null
  /** Of a step. */
  payload: unknown
  /** Of a step, and of what stands for a run. */
  result: unknown
  /** Its name, of what stands for a run. */
  error: string | null
  /** Transitions out of the ordinary, oldest first: the ledger's `history`. A success is none. */
  transitions: LedgerTransition[]
}

export interface LedgerTransition {
  at: number
  to: string
  reason: string | null
  fence: number | null
  /** Of the first one of what follows an execution: which. */
  after: string | null
}

export interface DagRunRow {
  runId: string
  createdAt: number
  /** The execution that has started it and ends as it does. */
  startedBy: string | null
  /** Its steps are the items of a list. */
  fanOut: boolean
  /** How many steps may be ready or running at once; null: all. */
  concurrency: number | null
  /** With so many failures it has SUCCEEDED all the same. */
  maxFailures: number
  payload: unknown
  state: 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED'
  reason: string | null
  /** Null: it was not cancelled since it was last retried. */
  cancelReason: 'RUN_CANCELLED' | 'RUN_DEADLINE' | null
  failedCount: number | null
  finishedAt: number | null
  steps: DagStepRow[]
}

/** A step as its run was asked for. */
export interface DagStepRow {
  executionId: string
  name: string
  dependsOn: string[]
  runIf: 'ALL_SUCCEEDED' | 'ALL_DONE' | 'ANY_FAILED'
  /** A condition on results. */
  when: string | null
  allowFailure: boolean
  /** It has no target, but waits for a signal. */
  waitFor: 'SIGNAL' | null
  timeoutSec: number | null
  /** The way to the list over whose items it runs. */
  forEach: string | null
}

export interface Signal {
  /** The step. */
  executionId: string
  at: number
  payload: unknown
  /** UNKNOWN: nothing was answered, it may have counted or not. */
  answer: 'ACCEPTED' | 'REFUSED' | 'UNKNOWN'
}

export interface Follower {
  jobId: string
  /** The id of the job whose executions it follows. */
  followed: string
  on: 'SUCCEEDED' | 'FAILED' | 'ENDED'
  /** From then on it is there, or from a little later on. */
  since: number
}

export interface JobSpan {
  jobId: string
  version: number
  state: 'ACTIVE' | 'PAUSED' | 'COMPLETED' | 'DELETED'
  overlap: 'ALLOW' | 'FORBID' | 'QUEUE_ONE' | 'REPLACE'
  since: number
  /** Null: it still is. */
  until: number | null
}

export interface Acknowledged {
  executionId: string
  at: number
}

export interface Run {
  worker: string
  /** STOPPED: its signal aborted and it gave up. BEGAN without an end: its worker did not live to write one. */
  what: 'BEGAN' | 'SUCCEEDED' | 'FAILED' | 'STOPPED'
  executionId: string
  fence: number
  attempt: number
  at: number
  /** Of a step that began: what it was told of its run. */
  given?: Given
  /** Of a step that SUCCEEDED. */
  result?: unknown
}

export interface Given {
  payload: unknown
  /** By the name of each step it depends on. */
  results: Readonly<Record<string, unknown>>
  states: Readonly<Record<string, string>>
}

export interface Lease {
  executionId: string
  fence: number
  workerId: string
  at: number
  /** When it ended: reported, handed back, taken away. Null: it runs on. */
  until: number | null
}

export interface Silenced {
  workerId: string
  at: number
}

export interface Trouble {
  kind: string
  from: number
  to: number
}

/** One thing that must not be. `subject` is an execution or a job. */
export interface Violation {
  checker: string
  subject: string
  problem: string
}

/** What a checker finds; who found it is added by whoever asked. */
export type Finding = Omit<Violation, 'checker'>

export interface Checker {
  name: string
  /** What must stay true, in one sentence. */
  promise: string
  check(history: History): Finding[]
}
