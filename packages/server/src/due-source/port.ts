/**
 * The due source: where the leader of a shard reads what is due next.
 *
 * Model. A source hands out entries: a job's next occurrence, a retry, or a submission made in a caller's transaction. The
 * scheduler claims what is due in the next seconds, keeps it in its timing wheel until its time, fires it, and confirms it.
 * Entries are plain data that survive JSON; their times are milliseconds since 1970 on the installation's clock. An occurrence
 * is identified by job id, version and nominal time, so of two entries of a job the newer is known.
 *
 * Claims. A claim has a time limit: an entry that is neither confirmed nor given back within `claimMs` is handed out again. It
 * belongs to an epoch of its shard: what a leader claimed that crashed, its successor may claim at once. No entry is taken
 * out of a source for good before FIRE has committed.
 *
 * Trust. FIRE compares version and due time with PostgreSQL and decides alone. A source may therefore hand out an entry twice,
 * late, or one that is out of date: FIRE refuses it, and the scheduler gives it back. It may lose an entry for a while, which
 * costs lateness until it compares itself with PostgreSQL again, at most `claimMs` later.
 *
 * Followed. Commits other than FIRE move schedules, too: jobs are created, changed, paused, resumed and deleted. The node that commits
 * one tells its source (`moved`), which may keep a copy; it need not lead the shard.
 *
 * What may fail. `claim` may reject; the scheduler tries again after a pause. `confirm`, `giveBack`, `dropped`, `hint` and `moved` never throw and
 * are not waited for: if one is lost, the time limit of the claim makes up for it.
 *
 * What must stay true: everything in PostgreSQL that is due is handed out to the leader of its shard sooner or later, whatever
 * was claimed, confirmed or given back before, and however often the leader changed.
 */
import type { DueSchedule } from '../store/schedules/read-due.ts'
import type { LedShard } from '../store/shards/claim.ts'

export type DueEntry = DueOccurrence | DueReturn

/** The next occurrence of a job, with what is needed to plan its fire. */
export interface DueOccurrence {
  source: 'schedules'
  jobId: string
  /** Of the job; FIRE refuses the entry if the job has another by then. */
  version: number
  nominal: number
  due: number
  shard: number
  tenant: string
  /** How often the job has fired. */
  fires: number
  /** The definition of this version. */
  job: DueSchedule['job']
}

/** An execution that comes back to the queue at a time: a retry, or a submission of a caller's transaction. */
export interface DueReturn {
  source: 'retries' | 'submissions'
  executionId: string
  due: number
  shard: number
  tenant: string
  pool: string
  lane: number
  /** Of a submission, for figures. */
  handler?: string
  /** Of a submission: it is an execution of a job that follows another one. */
  follows?: boolean
}

export interface ClaimRequest {
  /** The shards this node leads, with their epochs. */
  shards: readonly LedShard[]
  /** Entries due at this time or before. */
  until: number
  /** The caller has entries left that are due already: what it probably holds need not be handed out again. */
  behind: boolean
  /** Called with each portion, in the order of due times. False: there is no room for more; the next claim goes on from here. */
  take(entries: DueEntry[]): boolean
}

/** FIRE has committed. */
export interface Confirmation {
  entry: DueEntry
  /** The job's next occurrence; null: there is none. */
  next: { nominal: number; due: number /** How often the job has fired by now. */; fires: number } | null
}

export interface DueSource {
  /** An entry that is neither confirmed nor given back is handed out again after this time at most. */
  readonly claimMs: number
  /**
   * What is due up to here has been handed out. If the next occurrence of a confirmed entry is due before it, the caller keeps it,
   * as if it were claimed; a later one comes with a later claim.
   */
  readonly claimedUntil: number
  /** Hands out what is due and not claimed. Resolves after the last portion. */
  claim(request: ClaimRequest): Promise<void>
  /** The entries are read before it returns: the caller may change them afterwards. */
  confirm(fired: readonly Confirmation[]): void
  /** Not fired, or refused by FIRE: what PostgreSQL has of these jobs and executions now is handed out by the next claim. */
  giveBack(entries: readonly DueEntry[]): void
  /** Schedules of these jobs were moved by a commit of this node that was not FIRE. */
  moved(jobIds: readonly string[]): void
  /**
   * This node no longer leads these shards and has dropped what it claimed of them. If it leads them again, which may be a moment later
   * and in the same epoch, the next claim hands it out again.
   */
  dropped(shards: readonly number[]): void
  /** Something became due at this time: the next claim looks there. */
  hint(at: number): void
}
