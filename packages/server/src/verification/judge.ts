/**
 * The ledger's rows of a job beside the occurrences it should have. Pure, and linear: both are walked through once.
 *
 * An occurrence is accounted for by the row with its own id, or by a SKIPPED row before it that stands for several in a row
 * and reaches to it. What was computed with another tz database may stand elsewhere than it would now: there a row without
 * an occurrence makes good for an occurrence without a row.
 */
import { occurrenceId, timeOf } from '../domain/identity.ts'
import type { VerifiedJob } from '../store/verification/read-jobs.ts'
import type { LedgerEntry, Reach } from '../store/verification/read-rows.ts'
import type { ExpectedOfJob } from './expected.ts'
import { type DoubledWhy, found, skip, type Tally } from './tally.ts'

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
  const missing: number[] = []
  const extra: { row: LedgerEntry; why: DoubledWhy }[] = []
  const own = rows.filter((row) => isOwn(job, row))
  let reaching = reach
  let at = 0
  const passOver = (before: number) => {
    for (; at < own.length && own[at]!.nominal < before; at++) {
      const row = own[at]!
      if (row.last !== null) reaching = { last: row.last, reason: row.reason! }
      else if (fired(row)) extra.push({ row, why: 'NOT_SCHEDULED' })
    }
  }
  for (const { nominal, paused } of expected) {
    passOver(nominal)
    const row = own[at]?.nominal === nominal ? own[at++]! : null
    if (row?.last != null) reaching = { last: row.last, reason: row.reason! }
    if (row === null) {
      if (reaching !== null && reaching.last >= nominal) skip(tally, reaching.reason)
      else if (nominal >= options.floor) missing.push(nominal)
    } else if (row.state === 'SKIPPED') {
      skip(tally, row.reason!)
      late(tally, row, options)
    } else {
      if (paused && fired(row)) extra.push({ row, why: 'PAUSED' })
      late(tally, row, options)
    }
  }
  passOver(Math.min(looked.high, looked.passedBefore))

  const { missed, doubled } = withoutMoved(job, missing, extra, options.tzChangedAt)
  const { jobId, tenant } = job
  for (const nominal of missed) {
    const executionId = occurrenceId(jobId, nominal)
    found(tally, { kind: 'MISSED', why: 'NO_ROW', tenant, jobId, scheduledFor: nominal, executionId }, options.listed)
  }
  for (const { row, why } of doubled) {
    const { id: executionId, nominal: scheduledFor } = row
    found(tally, { kind: 'DOUBLED', why, tenant, jobId, scheduledFor, executionId }, options.listed)
  }
  return tally
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
  const wallClock = job.definitions.values().some(({ timezone }) => timezone !== 'UTC')
  if (tzChangedAt === null || !wallClock) return { missed: missing, doubled: extra }
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
