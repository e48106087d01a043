/**
 * One page of the comparison of ledger and schedules: a bounded number of jobs and rows, whatever there is. First the jobs
 * by id, each with its rows; then the rows by id, each in itself and beside the queues; then the minutes, each with what was
 * acknowledged in it.
 *
 * It may run beside everything else. Of each job the place of its schedule is read first and its rows after: what the
 * schedule had passed by then is committed and seen, and what fires meanwhile lies beyond. The floor of the ledger is read
 * last: rows may go between, but not without it being raised before.
 */
import { findings } from '@carillon/contract'
import { firstIdAt, occurrenceId, timeOf } from '../domain/identity.ts'
import type { Database } from '../store/database.ts'
import { readHorizon } from '../store/verification/progress.ts'
import { readJobsToVerify, type StrandedJob, type VerifiedJob } from '../store/verification/read-jobs.ts'
import { type LedgerEntry, readLedger, readReaches, type Window } from '../store/verification/read-occurrences.ts'
import { type CheckedRow, readRows } from '../store/verification/read-rows.ts'
import { readReceipts } from '../store/verification/receipts.ts'
import { type CheckRange, type ExpectedOfJob, expectedOf, expectedOrUnknown } from './expected.ts'
import { isOwn, judge } from './judge.ts'
import { addTally, emptyTally, found, lose, type Tally } from './tally.ts'

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
  /** How many findings to list; all are counted. */
  listed: number
  /** A worker silent for that long is lost; by default no worker counts as lost. */
  lostMs?: number
  /** One of a series of checks: overdue executions are checked elsewhere, and a minute belongs to the check that it begins in. */
  inPasses?: boolean
}

/** Where a check has got to: at which job, and from which nominal time on; or after which row. */
export type Position =
  | { at: 'JOBS'; jobId: string; nominal: number }
  | { at: 'ROWS'; afterId: string }
  | { at: 'MINUTES'; minute: number }

export const firstPosition: Extract<Position, { at: 'JOBS' }> = {
  at: 'JOBS',
  jobId: '00000000-0000-0000-0000-000000000000',
  nominal: 0,
}

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
const ledgerRowsPerPage = 1_000
const minuteMs = 60_000
/** Only counted, not read: [m] 1 ms for 4,000. */
const receiptRowsPerPage = 50_000

export function checkPage(database: Database, check: Check, position: Position): Promise<CheckedPage> {
  switch (position.at) {
    case 'JOBS':
      return checkJobs(database, check, position)
    case 'ROWS':
      return checkRows(database, check, position)
    case 'MINUTES':
      return checkMinutes(database, check, position.minute)
  }
}

type JobsPosition = Extract<Position, { at: 'JOBS' }>
type RowsPosition = Extract<Position, { at: 'ROWS' }>

interface Looked extends ExpectedOfJob {
  job: VerifiedJob
}

async function checkJobs(database: Database, check: Check, position: JobsPosition): Promise<CheckedPage> {
  const range = { ...check, floor: (await readHorizon(database)).floor }
  const inside = position.nominal > 0
  const page = await readJobsToVerify(database, check, position.jobId, inside ? 1 : jobsPerPage)
  const looked: Looked[] = []
  let room = occurrencesPerPage
  let next = page.last === null ? rowsFrom(check, range.floor) : after(page.last)
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
  if (!inside) for (const job of page.stranded) tellStranded(tally, job, check)
  return { tally, next }
}

/** It is to fire, and nothing says when. */
function tellStranded(tally: Tally, { jobId, tenant, createdAt }: StrandedJob, { from, to, listed }: Check): void {
  if (createdAt >= to) return
  const scheduledFor = Math.max(createdAt, from)
  found(tally, { why: 'NO_SCHEDULE', tenant, jobId, scheduledFor, executionId: jobId }, listed)
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

function rowsFrom({ from }: Check, floor: number): Position {
  return { at: 'ROWS', afterId: firstIdAt(Math.max(from, floor)) }
}

/** What rows are in themselves, and whether their ids are what they are computed from. */
async function checkRows(database: Database, check: Check, { afterId }: RowsPosition): Promise<CheckedPage> {
  const { tenant, jobId, to, listed, lostMs = null, inPasses = false } = check
  const beforeId = firstIdAt(to)
  const page = await readRows(database, { tenant, jobId, afterId, beforeId, limit: ledgerRowsPerPage, lostMs })
  const tally = emptyTally()
  tally.open = page.open
  const wrongIds = new Set(page.rows.filter(isWrong).map(({ id }) => id))
  const told = new Set<string>()
  for (const row of page.rows) {
    const why = wrongIds.has(row.id) ? 'WRONG_ID' : row.why
    if (why === null || told.has(row.id) || (inPasses && pastItsTime.has(why))) continue
    told.add(row.id) // once, whatever else is wrong with it
    const { id: executionId, nominal: scheduledFor } = row
    found(tally, { why, tenant: row.tenant, jobId: row.jobId, scheduledFor, executionId }, listed)
  }
  if (page.last !== null) return { tally, next: { at: 'ROWS', afterId: page.last } }
  return { tally, next: jobId === null ? { at: 'MINUTES', minute: firstMinute(check) } : null }
}

/** Whether the ledger has what was acknowledged. Of each minute all is counted, wherever the range begins and ends. */
async function checkMinutes(database: Database, check: Check, minute: number): Promise<CheckedPage> {
  const { tenant, to, listed } = check
  const minutes = await readReceipts(database, { tenant, from: minute, before: to, rows: receiptRowsPerPage })
  const { floor } = await readHorizon(database)
  const tally = emptyTally()
  for (const each of minutes) if (each.kept < each.acknowledged && each.minute >= floor) lose(tally, each, listed)
  const last = minutes.at(-1)
  return { tally, next: last === undefined ? null : { at: 'MINUTES', minute: last.minute + minuteMs } }
}

function firstMinute({ from, inPasses = false }: Check): number {
  return (inPasses ? Math.ceil(from / minuteMs) : Math.floor(from / minuteMs)) * minuteMs
}

const pastItsTime: ReadonlySet<string> = new Set(
  findings.STUCK.filter((why) => why !== 'NO_HOLDER' && why !== 'WAITS_FOR_NOTHING'),
)

function isWrong({ id, jobId, nominal, origin, once }: CheckedRow): boolean {
  // Of a trigger the id is random, of a step its run's and its number's. A submission is its own job; so is what fires once, unless its time was changed.
  if (id === jobId || origin === null || origin === 'TRIGGER' || origin === 'DAG') return false
  if (origin === 'SUBMIT' || (once && timeOf(jobId) === nominal)) return true
  return id !== occurrenceId(jobId, nominal)
}
