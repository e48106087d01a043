/**
 * The ledger's rows of a job beside the occurrences it should have. Pure, and linear: both are walked through once.
 *
 * An occurrence is accounted for by the row with its own id, or by a SKIPPED row before it that stands for several in a row
 * and reaches to it. What was computed with another tz database may stand elsewhere than it would now: there a row without
 * an occurrence makes good for an occurrence without a row.
 */
import { occurrenceId, timeOf } from '../domain/identity.ts'
import type { VerifiedJob } from '../store/verification/read-jobs.ts'
import type { LedgerEntry, Reach } from '../store/verification/read-occurrences.ts'
import type { Expected, ExpectedOfJob } from './expected.ts'
import { countsRight, mayBeSkipped } from './skips.ts'
import { type Finding, found, skip, type Tally } from './tally.ts'

export interface JudgeOptions {
  lateAfterMs: number
  listed: number
  /** Read after the rows: what lies before it may be gone by now. */
  floor: number
  /** Before this time another tz database was used. Null: never. */
  tzChangedAt: number | null
}

/** No clock is moved further than the offsets of the world differ. */
const furthestMs = 27 * 3_600_000

/** Adds to the tally of `looked`. `reach`: the SKIPPED row before `rows` that stands for several. */
export function judge(
  job: VerifiedJob,
  looked: ExpectedOfJob,
  rows: readonly LedgerEntry[],
  reach: Reach | null,
  options: JudgeOptions,
): Tally {
  const { tally, expected } = looked
  const { jobId, tenant } = job
  const missing: number[] = []
  const extra: { row: LedgerEntry; why: 'NOT_SCHEDULED' | 'PAUSED' }[] = []
  const own = rows.filter((row) => isOwn(job, row))
  const wrong = (why: Finding['why'], { id: executionId }: { id: string }, scheduledFor: number) =>
    found(tally, { why, tenant, jobId, scheduledFor, executionId }, options.listed)
  let reaching = reach
  let at = 0
  const passOver = (before: number) => {
    for (; at < own.length && own[at]!.nominal < before; at++) {
      const row = own[at]!
      if (standsForSeveral(row)) reaching = reachOf(row)
      else if (fired(row)) extra.push({ row, why: 'NOT_SCHEDULED' })
    }
  }
  for (const each of expected) {
    const { nominal, stretch } = each
    passOver(nominal)
    const row = own[at]?.nominal === nominal ? own[at++]! : null
    const cover = reaching !== null && reaching.last >= nominal ? reaching : null
    if (row === null) {
      if (cover === null) {
        if (nominal >= options.floor) missing.push(nominal)
        continue
      }
      skip(tally, cover.reason)
      const known = { stretch, definitions: job.definitions }
      if (!mayBeSkipped(cover, nominal, known)) wrong('SKIP_REASON', cover, nominal)
      continue
    }
    if (cover !== null && !movedBy(job, cover, options)) wrong('SKIP_COVERS_RUN', cover, nominal)
    if (standsForSeveral(row)) reaching = reachOf(row)
    if (row.state === 'SKIPPED') skip(tally, row.reason!)
    else if (stretch.paused && fired(row)) extra.push({ row, why: 'PAUSED' })
    late(tally, row, options)
    const fault = faultOf(job, each, row, options)
    if (fault !== null) wrong(fault, row, nominal)
  }
  passOver(Math.min(looked.high, looked.passedBefore))

  const { missed, doubled } = withoutMoved(job, missing, extra, options.tzChangedAt)
  for (const nominal of missed) wrong('NO_ROW', { id: occurrenceId(jobId, nominal) }, nominal)
  for (const { row, why } of doubled) wrong(why, row, row.nominal)
  return tally
}

/** What cannot be true of the row of an occurrence, given what the job was then. */
function faultOf(
  job: VerifiedJob,
  { nominal, stretch }: Expected,
  row: LedgerEntry,
  options: JudgeOptions,
): 'SKIP_REASON' | 'SKIP_COUNT' | 'TIMES' | 'VERSION' | null {
  const { definitions } = job
  if (row.state === 'SKIPPED') {
    if (!mayBeSkipped(row, nominal, { stretch, definitions })) return 'SKIP_REASON'
    if (!countsRight(row, stretch) && !movedBy(job, row, options)) return 'SKIP_COUNT'
  }
  if (row.origin !== 'SCHEDULE') return null
  if (row.version !== null && row.version !== stretch.version) return 'VERSION'
  return row.dueAt === nominal + stretch.jitterMs ? null : 'TIMES'
}

function standsForSeveral({ state, last }: LedgerEntry): boolean {
  return state === 'SKIPPED' && last !== null
}

function reachOf({ id, nominal, last, reason, version, firedAt }: LedgerEntry): Reach {
  return { id, nominal, last: last!, reason: reason!, version, firedAt }
}

/** Put on record with another tz database, which may have seen other occurrences. */
function movedBy(job: VerifiedJob, { firedAt }: { firedAt: number }, { tzChangedAt }: JudgeOptions): boolean {
  return tzChangedAt !== null && firedAt < tzChangedAt && hasWallClock(job)
}

function hasWallClock({ definitions }: VerifiedJob): boolean {
  return definitions.values().some(({ timezone }) => timezone !== 'UTC')
}

/** Rows under other ids account for nothing. What fires once, or did before it was changed, may have the job's own id. */
export function isOwn({ jobId }: VerifiedJob, { id, nominal }: LedgerEntry): boolean {
  return id === occurrenceId(jobId, nominal) || (id === jobId && timeOf(jobId) === nominal)
}

/** By its schedule, not by a person. */
function fired({ origin, state, reason }: LedgerEntry): boolean {
  return origin === 'SCHEDULE' && (state !== 'SKIPPED' || reason === 'EXPIRED')
}

function late(tally: Tally, row: LedgerEntry, { lateAfterMs }: JudgeOptions): void {
  const lateMs = row.firedAt - row.dueAt
  if (!fired(row) || lateMs <= lateAfterMs) return
  tally.late.count++
  tally.late.worstMs = Math.max(tally.late.worstMs, lateMs)
}

/** Takes out what another tz database put elsewhere: pairs of an occurrence without a row and a row without an occurrence. */
function withoutMoved<T extends { row: LedgerEntry }>(
  job: VerifiedJob,
  missing: number[],
  extra: T[],
  tzChangedAt: number | null,
): { missed: number[]; doubled: T[] } {
  if (tzChangedAt === null || !hasWallClock(job)) return { missed: missing, doubled: extra }
  const doubled = [...extra]
  const missed = missing.filter((nominal) => {
    const pair = doubled.findIndex(
      ({ row }) => row.nominal < tzChangedAt && Math.abs(row.nominal - nominal) <= furthestMs,
    )
    if (pair < 0) return true
    doubled.splice(pair, 1)
    return false
  })
  return { missed, doubled }
}
