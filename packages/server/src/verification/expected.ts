/** Which occurrences of a job lie in a range of time, a bounded number at a time. Pure. */
import { CarillonError } from '@carillon/contract'
import { occurrenceId } from '../domain/identity.ts'
import { countWithin, nextWithin } from '../domain/schedule/schedule.ts'
import { executionIdOf } from '../store/job-schedule.ts'
import type { VerifiedJob } from '../store/verification/read-jobs.ts'
import { type Stretch, type Stretches, stretchesOf } from './stretches.ts'
import { emptyTally, type Finding, found, skip, type Tally } from './tally.ts'

/** Occurrences due from `from` on and before `to`. */
export interface CheckRange {
  from: number
  to: number
  now: number
  /** The ledger holds nothing whose nominal time lies before. */
  floor: number
  /** How many findings to list. */
  listed: number
}

export interface Expected {
  nominal: number
  stretch: Stretch
}

export interface ExpectedOfJob extends Pick<Stretches, 'passedBefore'> {
  /** Each must have a row. Ascending. */
  expected: Expected[]
  /** What needs no row to be known. */
  tally: Tally
  /** Nominal times looked at: from `low` on and before `high`. */
  low: number
  high: number
  /** There are more: they begin at this nominal time. Null: that was all. */
  next: number | null
}

/** An occurrence that is late by less is about to fire, whatever the job says of misfires. */
const leastPatienceMs = 60_000

/** At most `limit` occurrences, those whose nominal time lies in the part of the range that is asked for. */
export function expectedOf(
  job: VerifiedJob,
  range: CheckRange,
  part: { from: number; before: number },
  limit: number,
): ExpectedOfJob {
  const { stretches, unknownBefore, passedBefore } = stretchesOf(job)
  const tally = emptyTally()
  const expected: Expected[] = []
  let low = Infinity
  let high = part.from
  // A later stretch may begin before an earlier one ends, but not before its last occurrence.
  let done = part.from
  if (part.from === 0 && unknownBefore !== null && unknownBefore > range.from) tally.outsideHistory.jobs = 1
  for (const stretch of stretches) {
    const from = Math.max(stretch.from, range.from - stretch.jitterMs, range.floor, done)
    const before = Math.min(stretch.before, range.to - stretch.jitterMs, part.before)
    if (from >= before) continue
    low = Math.min(low, from)
    high = Math.max(high, before)
    if (stretch.kind !== 'RECORDED') {
      count(tally, stretch, { from, before }, range)
      continue
    }
    let nominal = nextWithin(stretch.schedule, stretch.bounds, from - 1)
    for (; nominal !== null && nominal < before; nominal = nextWithin(stretch.schedule, stretch.bounds, nominal)) {
      if (expected.length >= limit) {
        return { expected, tally, passedBefore, low, high: nominal, next: nominal }
      }
      expected.push({ nominal, stretch })
      tally.checked.occurrences++
      done = nominal + 1
    }
  }
  return { expected, tally, passedBefore, low: Math.min(low, high), high, next: null }
}

/**
 * As expectedOf, also of a schedule that cannot be computed: a zone may be gone from the tz database, a row spoilt by hand. Such
 * a job cannot fire either. Nothing can be said of its time, but for the occurrence it stands at.
 */
export function expectedOrUnknown(
  job: VerifiedJob,
  range: CheckRange,
  part: { from: number; before: number },
  limit: number,
): ExpectedOfJob {
  try {
    return expectedOf(job, range, part, limit)
  } catch (error) {
    if (!(error instanceof CarillonError || error instanceof RangeError || error instanceof TypeError)) throw error
    const tally = emptyTally()
    tally.outsideHistory.jobs = 1
    const { nominal, state, jobId, tenant } = job
    const stands = state === 'ACTIVE' && nominal !== null && nominal >= Math.max(range.from, range.floor)
    if (stands && nominal < Math.min(range.to, range.now - leastPatienceMs)) {
      const executionId = occurrenceId(jobId, nominal)
      found(tally, { why: 'OVERDUE', tenant, jobId, scheduledFor: nominal, executionId }, range.listed)
    }
    return { expected: [], tally, passedBefore: 0, low: 0, high: 0, next: null }
  }
}

/** Occurrences without rows: counted, not walked through, however many there are. */
function count(tally: Tally, stretch: Stretch, { from, before }: { from: number; before: number }, range: CheckRange) {
  const { schedule, bounds, definition, jitterMs, reason } = stretch
  const between = (first: number, end: number) => (first < end ? countWithin(schedule, bounds, first - 1, end - 1) : 0)
  const all = between(from, before)
  tally.checked.occurrences += all
  if (reason !== null) {
    skip(tally, reason, all)
    return
  }
  const patienceMs = Math.max(definition.misfireAfterSec * 1_000, leastPatienceMs)
  const given = Math.min(before, Math.floor(range.now) - patienceMs - jitterMs)
  const overdue = between(from, given)
  tally.missed += overdue
  tally.pending += all - overdue
  let nominal = overdue > 0 ? nextWithin(schedule, bounds, from - 1) : null
  for (; nominal !== null && nominal < given; nominal = nextWithin(schedule, bounds, nominal)) {
    if (tally.findings.length >= range.listed) return
    tally.findings.push(overdueAt(definition, nominal))
  }
}

function overdueAt(definition: Stretch['definition'], nominal: number): Finding {
  const { tenant, jobId } = definition
  const executionId = executionIdOf(definition, nominal)
  return { kind: 'MISSED', why: 'OVERDUE', tenant, jobId, scheduledFor: nominal, executionId }
}
