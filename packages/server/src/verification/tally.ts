/** What a check has found so far: everything counted, as much listed as was asked for. */

/** NO_ROW: nothing in the ledger stands for it. OVERDUE: its schedule still stands before it, long after its time. */
export type MissedWhy = 'NO_ROW' | 'OVERDUE'

/**
 * WRONG_ID: a row whose id is not the one computed from its job and its time, so a second one for that time.
 * NOT_SCHEDULED: it fired at a time at which the job had no occurrence. PAUSED: it fired though the job was paused.
 */
export type DoubledWhy = 'WRONG_ID' | 'NOT_SCHEDULED' | 'PAUSED'

interface Found {
  tenant: string
  jobId: string
  /** Milliseconds. */
  scheduledFor: number
  executionId: string
}

export type Finding = (Found & { kind: 'MISSED'; why: MissedWhy }) | (Found & { kind: 'DOUBLED'; why: DoubledWhy })

export interface Tally {
  checked: { jobs: number; occurrences: number }
  missed: number
  doubled: number
  late: { count: number; worstMs: number }
  /** By reason. */
  skipped: Record<string, number>
  /** Due, or soon due, and their schedules stand at them. */
  pending: number
  /** Jobs whose schedule is not known for a part of the time. */
  outsideHistory: { jobs: number }
  findings: Finding[]
}

export function emptyTally(): Tally {
  return {
    checked: { jobs: 0, occurrences: 0 },
    ...{ missed: 0, doubled: 0, late: { count: 0, worstMs: 0 }, skipped: {}, pending: 0 },
    outsideHistory: { jobs: 0 },
    findings: [],
  }
}

/** Counts a finding, and lists it while there is room. */
export function found(tally: Tally, finding: Finding, listed: number): void {
  if (finding.kind === 'MISSED') tally.missed++
  else tally.doubled++
  if (tally.findings.length < listed) tally.findings.push(finding)
}

export function skip(tally: Tally, reason: string, count = 1): void {
  if (count > 0) tally.skipped[reason] = (tally.skipped[reason] ?? 0) + count
}

export function addTally(sum: Tally, more: Tally, listed: number): void {
  sum.checked.jobs += more.checked.jobs
  sum.checked.occurrences += more.checked.occurrences
  sum.missed += more.missed
  sum.doubled += more.doubled
  sum.late.count += more.late.count
  sum.late.worstMs = Math.max(sum.late.worstMs, more.late.worstMs)
  for (const [reason, count] of Object.entries(more.skipped)) skip(sum, reason, count)
  sum.pending += more.pending
  sum.outsideHistory.jobs += more.outsideHistory.jobs
  sum.findings.push(...more.findings.slice(0, Math.max(0, listed - sum.findings.length)))
}
