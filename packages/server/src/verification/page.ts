/**
 * One page of the comparison of ledger and schedules: a bounded number of jobs and rows, whatever there is. First the jobs
 * by id, each with its rows; then the rows by id, each with the id it should have.
 *
 * It may run beside everything else. Of each job the place of its schedule is read first and its rows after: what the
 * schedule had passed by then is committed and seen, and what fires meanwhile lies beyond. The floor of the ledger is read
 * last: rows may go between, but not without it being raised before.
 */
import { firstIdAt, occurrenceId, timeOf } from '../domain/identity.ts'
import type { Database } from '../store/database.ts'
import { readHorizon } from '../store/verification/progress.ts'
import { type IdRow, readIds } from '../store/verification/read-ids.ts'
import { readJobsToVerify, type VerifiedJob } from '../store/verification/read-jobs.ts'
import { type LedgerEntry, readLedger, readReaches, type Window } from '../store/verification/read-rows.ts'
import { type CheckRange, type ExpectedOfJob, expectedOf, expectedOrUnknown } from './expected.ts'
import { isOwn, judge } from './judge.ts'
import { addTally, emptyTally, found, type Tally } from './tally.ts'

export interface Check {
  /** Null: every tenant. */
  tenant: string | null
  /** Null: all of them. */
  jobId: string | null
  /** Occurrences due from then on, */
  from: number
  /** and before then. */
  to: number
  now: number
  /** Fired later than that after it was due is late. */
  lateAfterMs: number
  /** Of findings, so many are listed; all are counted. */
  listed: number
}

/** Where a check has got to: at which job, and from which nominal time on; or after which row. */
export type Position = { at: 'JOBS'; jobId: string; nominal: number } | { at: 'IDS'; afterId: string }

export const firstPosition: Position = { at: 'JOBS', jobId: '00000000-0000-0000-0000-000000000000', nominal: 0 }

export interface CheckedPage {
  tally: Tally
  /** Null: that was all. */
  next: Position | null
}

// Small: what a node does meanwhile waits for the computing of a page. See docs/decisions/0027-steady-fires.md.
const jobsPerPage = 200
const occurrencesPerPage = 500
/** More than occurrences, because a person may have backfilled others; a page ends where this is reached. */
const rowsPerPage = 2_000
const idsPerPage = 1_000

export function checkPage(database: Database, check: Check, position: Position): Promise<CheckedPage> {
  return position.at === 'JOBS' ? checkJobs(database, check, position) : checkIds(database, check, position)
}

type JobsPosition = Extract<Position, { at: 'JOBS' }>
type IdsPosition = Extract<Position, { at: 'IDS' }>

interface Looked extends ExpectedOfJob {
  job: VerifiedJob
}

async function checkJobs(database: Database, check: Check, position: JobsPosition): Promise<CheckedPage> {
  const range = { ...check, floor: (await readHorizon(database)).floor }
  const inside = position.nominal > 0
  const page = await readJobsToVerify(database, check, position.jobId, inside ? 1 : jobsPerPage)
  const looked: Looked[] = []
  let room = occurrencesPerPage
  let next = page.last === null ? idsFrom(check) : after(page.last)
  for (const job of page.jobs) {
    const from = job.jobId === position.jobId ? position.nominal : 0
    const each = { job, ...expectedOrUnknown(job, range, { from, before: Infinity }, room) }
    if (each.next !== null && looked.length > 0) {
      next = { at: 'JOBS', jobId: job.jobId, nominal: 0 } // what does not fit begins the next page
      break
    }
    looked.push(each)
    room -= each.expected.length
    if (each.next !== null) {
      next = { at: 'JOBS', jobId: job.jobId, nominal: each.next }
      break
    }
  }
  const rows = await readLedger(database, looked.map(windowOf), rowsPerPage)
  if (rows.length === rowsPerPage) next = cut(looked, rows.at(-1)!, range)
  const rowsOf = Map.groupBy(rows, ({ jobId }) => jobId)
  const reaches = await readReaches(
    database,
    looked.filter((each) => startsBare(each, rowsOf.get(each.job.jobId) ?? [])).map(windowOf),
  )
  const options = { ...check, ...(await readHorizon(database)) }
  const tally = emptyTally()
  for (const each of looked) {
    const { jobId } = each.job
    addTally(tally, judge(each.job, each, rowsOf.get(jobId) ?? [], reaches.get(jobId) ?? null, options), check.listed)
  }
  tally.checked.jobs = inside ? 0 : looked.length
  return { tally, next }
}

/** There are more rows than a page holds: the jobs after the last row wait, and so does the rest of its job. */
function cut(looked: Looked[], last: LedgerEntry & { jobId: string }, range: CheckRange): Position {
  looked.length = looked.findIndex(({ job }) => job.jobId === last.jobId) + 1
  const { job, low } = looked.pop()!
  const before = Math.max(timeOf(last.id), low + 1)
  looked.push({ job, ...expectedOf(job, range, { from: low, before }, Infinity) })
  return { at: 'JOBS', jobId: job.jobId, nominal: before }
}

/** Its first occurrence has no row of its own: one before the window may reach to it. */
function startsBare({ job, expected }: Looked, rows: readonly LedgerEntry[]): boolean {
  const first = expected[0]
  return first !== undefined && !rows.some((row) => row.nominal === first.nominal && isOwn(job, row))
}

function windowOf({ job, low, high }: Looked): Window {
  return { jobId: job.jobId, low, high }
}

/** The smallest id after this one. */
function after(id: string): Position {
  const next = (BigInt(`0x${id.replaceAll('-', '')}`) + 1n).toString(16).padStart(32, '0')
  return { at: 'JOBS', jobId: next.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'), nominal: 0 }
}

function idsFrom({ from }: Check): Position {
  return { at: 'IDS', afterId: firstIdAt(from) }
}

/** Ids that are not what they are computed from: a second row for a time, or one that stands for none. */
async function checkIds(database: Database, check: Check, { afterId }: IdsPosition): Promise<CheckedPage> {
  const { tenant, jobId, to, listed } = check
  const page = await readIds(database, { tenant, jobId, afterId, beforeId: firstIdAt(to), limit: idsPerPage })
  const tally = emptyTally()
  for (const row of page.rows.filter(isWrong)) {
    const finding = { tenant: row.tenant, jobId: row.jobId, scheduledFor: row.nominal, executionId: row.id }
    found(tally, { kind: 'DOUBLED', why: 'WRONG_ID', ...finding }, listed)
  }
  return { tally, next: page.last === null ? null : { at: 'IDS', afterId: page.last } }
}

function isWrong({ id, jobId, nominal, origin, once }: IdRow): boolean {
  // A submission is its own job; so is what fires once, unless its time was changed.
  if (origin === 'SUBMIT' || (once && timeOf(jobId) === nominal)) return true
  return id !== occurrenceId(jobId, nominal)
}
