/**
 * What the oracle knows: plain data, written from the specification and not from the SQL. Where an execution stands is
 * its state; nothing is stored twice, so the oracle cannot contradict itself. Times are milliseconds since 1970.
 */

import type { Following } from './followers.ts'
import type { Run } from './graph.ts'

export type End = 'SUCCEEDED' | 'DEAD' | 'CANCELLED' | 'SKIPPED'
export type Failure = 'FAILED' | 'TIMED_OUT' | 'WORKER_LOST'

/** How a piece of work is run: what submissions and jobs have in common. */
export interface Work {
  pool: string
  /** 0 is CRITICAL, 3 is LOW. */
  lane: number
  maxAttempts: number
  backoff: 'EXPONENTIAL' | 'LINEAR' | 'FIXED' | number[]
  initialDelayMs: number
  factor: number
  maxDelayMs: number
  notRetryable: string[]
  timeoutSec: number
  cancelGraceSec: number
  heartbeatTimeoutSec: number | null
  startWithinSec: number | null
  deadlineSec: number | null
  atMostOnce: boolean
  unknownHandlerSec: number
}

export interface Definition {
  /** Unique among the jobs of a tenant that are not deleted. */
  key: string | null
  /** Neither this nor `after`: it runs once, at `runAt`. */
  every: { ms: number; anchor: number; as: 'INTERVAL' | 'CRON' } | null
  runAt: number | null
  /** It runs whenever an execution of another job has ended so. The job by its id or key. */
  after: { job: string; on: 'SUCCEEDED' | 'FAILED' | 'ENDED' } | null
  startAt: number | null
  endAt: number | null
  maxFires: number | null
  jitterSec: number
  misfire: 'FIRE_ONCE' | 'FIRE_ALL' | 'SKIP'
  misfireAfterSec: number
  maxCatchUp: number
  graceSec: number | null
  overlap: 'ALLOW' | 'FORBID' | 'QUEUE_ONE' | 'REPLACE'
  pauseAfterFailures: number | null
  work: Work
}

export interface Job {
  id: string
  name: string
  tenant: string
  definition: Definition
  version: number
  /** GONE: a one-shot that has fired or was taken back. */
  state: 'ACTIVE' | 'PAUSED' | 'COMPLETED' | 'DELETED' | 'GONE'
  /** The occurrence it stands at; null: none is to come. */
  nominal: number | null
  /** Between nominal and due time; stable for the life of the job. */
  jitterMs: number
  fires: number
  updatedAt: number
  /** Its executions that count for its overlap policy. */
  counted: Set<Execution>
  /** Its times were changed: what stands for several occurrences was counted by another schedule. */
  timesChanged: boolean
}

export interface Lease {
  fence: number
  /** Null: somebody outside will report its end. */
  workerId: string | null
  attempt: number
  leasedAt: number
  overdueAt: number
  heartbeatAt: number
  began: boolean
  progress: string | null
  cancel: { reason: string } | null
  /** Completed in the handler's own transaction, with this result. */
  completed: { result: string | null } | null
}

export type Place =
  /** A step whose time has not come. Held: it could go on, but its run is paused. */
  | { in: 'blocked'; held: boolean }
  | { in: 'ready'; turn: number }
  | { in: 'waiting' }
  | { in: 'retries'; due: number; shows: Failure | 'PENDING' }
  | { in: 'running'; lease: Lease }
  | { in: 'ledger'; state: End; reason: string | null; finishedAt: number }

export interface Execution {
  id: string
  name: string
  /** Null: a submission, or a step. */
  job: Job | null
  /** Of a step. */
  run: Run | null
  version: number | null
  origin: 'SCHEDULE' | 'TRIGGER' | 'BACKFILL' | 'SUBMIT' | 'DAG'
  work: Work
  lane: number
  scheduledFor: number
  dueAt: number
  firedAt: number
  expiresAt: number | null
  deadlineAt: number | null
  place: Place
  /** Used so far. A running one is not counted yet. */
  attempt: number
  releases: number
  progress: string | null
  result: string | null
  /** What a step was given of those it depends on. */
  inputs: string | null
  /** Of the lease that ended last. */
  fence: number | null
  workerId: string | null
  startedAt: number | null
  /** A SKIPPED one may stand for several occurrences. */
  skipped: { last: number; count: number } | null
  /** What was accepted under which fence: the same once more gets the same answer. */
  told: { fence: number; outcome: string }[]
  /** Transitions out of the ordinary. */
  timeline: string[]
  unknownHandlerSince: number | null
  freeReturns: number
}

/** Enqueued in a transaction of the caller's own, not yet taken up. */
export interface Enqueued {
  id: string
  name: string
  work: Work
  runAt: number
}

/** What stands under a dedupe key. */
export interface Stand {
  id: string
  firstAt: number
  windowUntil: number | null
}

export interface Backfill {
  id: string
  job: Job
  from: number
  to: number
  includeSkipped: boolean
  concurrency: number
  position: number | null
  open: Execution[]
  done: number
  state: 'RUNNING' | 'SUCCEEDED' | 'FAILED'
}

export interface World {
  now: number
  executions: Map<string, Execution>
  jobs: Map<string, Job>
  enqueued: Map<string, Enqueued>
  following: Following[]
  runs: Map<string, Run>
  stands: Map<string, Stand>
  /** When each known worker was heard of last. */
  workers: Map<string, number>
  pausedPools: Set<string>
  /** How long the installation has been watched without a gap. */
  watch: { since: number; last: number }
  backfill: Backfill | null
  /** Counts what became ready: first come, first leased. */
  turns: number
  /** The largest fence there has been. */
  fence: number
  /** What went DEAD in this step. */
  died: Execution[]
  names: number
  /** Every end with its reason that there has been, of executions and of runs. */
  ends: Set<string>
}

export function emptyWorld(now: number): World {
  return {
    now,
    executions: new Map(),
    jobs: new Map(),
    enqueued: new Map(),
    following: [],
    runs: new Map(),
    stands: new Map(),
    workers: new Map(),
    pausedPools: new Set(),
    watch: { since: 0, last: Number.NEGATIVE_INFINITY },
    backfill: null,
    turns: 0,
    fence: 0,
    died: [],
    names: 0,
    ends: new Set(),
  }
}

export function isOpen(execution: Execution): boolean {
  return execution.place.in !== 'ledger'
}

/** Those that have not ended, in the order in which they were born. */
export function openOnes(world: World): Execution[] {
  return [...world.executions.values()].filter(isOpen)
}

export function executionsOf(world: World, job: Job): Execution[] {
  return [...world.executions.values()].filter((execution) => execution.job === job)
}

/** Jobs that can be seen and changed. */
export function livingJobs(world: World): Job[] {
  return [...world.jobs.values()].filter(({ state }) => state !== 'DELETED' && state !== 'GONE')
}

export function dueOf({ state, nominal, jitterMs }: Job): number | null {
  return state === 'ACTIVE' && nominal !== null ? nominal + jitterMs : null
}

export function nameOf(world: World, kind: string): string {
  return `${kind}${++world.names}`
}

export function runsOnce({ every, after }: Definition): boolean {
  return every === null && after === null
}
