/** The findings of a check so far: all counted, a limited number listed. */
import {
  type FindingKind,
  type FindingReason,
  findings,
  type Timed,
  type Verification,
  type Finding as WireFinding,
} from '@carillon/contract'

/** `scheduledFor` in milliseconds. */
export type Finding = Timed<WireFinding, 'scheduledFor', number> & { tenant: string }

/** Submissions that were acknowledged and are not in the ledger. */
export interface LostSubmissions extends Pick<Verification['lost'], 'submissions'> {
  /** As many as are listed. Milliseconds. */
  minutes: Timed<Verification['lost']['minutes'][number], 'minute', number>[]
}

type Counted = 'checked' | 'missed' | 'doubled' | 'stuck' | 'wrong' | 'open' | 'late' | 'skipped' | 'pending'

export interface Tally extends Pick<Verification, Counted> {
  lost: LostSubmissions
  /** Jobs whose schedule is not known for a part of the time. */
  outsideHistory: Pick<Verification['outsideHistory'], 'jobs'>
  findings: Finding[]
}

export function emptyTally(): Tally {
  return {
    checked: { jobs: 0, occurrences: 0 },
    ...{ missed: 0, doubled: 0, stuck: 0, wrong: 0, open: 0, late: { count: 0, worstMs: 0 }, skipped: {}, pending: 0 },
    outsideHistory: { jobs: 0 },
    lost: { submissions: 0, minutes: [] },
    findings: [],
  }
}

/** Counts a finding, and lists it while there is room. */
export function found(tally: Tally, finding: Omit<Finding, 'kind'>, listed: number): void {
  const kind = kindOf(finding.why)
  tally[countOf[kind]]++
  if (tally.findings.length < listed) tally.findings.push({ kind, ...finding })
}

const countOf = { MISSED: 'missed', DOUBLED: 'doubled', STUCK: 'stuck', WRONG: 'wrong' } as const

function kindOf(why: FindingReason): FindingKind {
  for (const [kind, whys] of Object.entries(findings) as [FindingKind, readonly FindingReason[]][]) {
    if (whys.includes(why)) return kind
  }
  throw new Error(`no kind of finding has the reason ${why}`)
}

/** How many findings there are, listed or not. */
export function foundIn({ missed, doubled, stuck, wrong }: Tally): number {
  return missed + doubled + stuck + wrong
}

export function lose(tally: Tally, minute: LostSubmissions['minutes'][number], listed: number): void {
  tally.lost.submissions += minute.acknowledged - minute.kept
  if (tally.lost.minutes.length < listed) tally.lost.minutes.push(minute)
}

export function skip(tally: Tally, reason: string, count = 1): void {
  if (count > 0) tally.skipped[reason] = (tally.skipped[reason] ?? 0) + count
}

export function addTally(sum: Tally, more: Tally, listed: number): void {
  sum.checked.jobs += more.checked.jobs
  sum.checked.occurrences += more.checked.occurrences
  sum.missed += more.missed
  sum.doubled += more.doubled
  sum.stuck += more.stuck
  sum.wrong += more.wrong
  sum.open += more.open
  sum.late.count += more.late.count
  sum.late.worstMs = Math.max(sum.late.worstMs, more.late.worstMs)
  for (const [reason, count] of Object.entries(more.skipped)) skip(sum, reason, count)
  sum.pending += more.pending
  sum.lost.submissions += more.lost.submissions
  sum.lost.minutes.push(...more.lost.minutes.slice(0, Math.max(0, listed - sum.lost.minutes.length)))
  sum.outsideHistory.jobs += more.outsideHistory.jobs
  sum.findings.push(...more.findings.slice(0, Math.max(0, listed - sum.findings.length)))
}
