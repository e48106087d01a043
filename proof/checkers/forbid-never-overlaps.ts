/**
 * Holds for FORBID, QUEUE_ONE and REPLACE alike: of one job, the next execution starts only after the one before has ended
 * or lost its last lease. An execution is at work from its first rightful start until the ledger says that it ended, retries
 * included; what stands for a run of a graph is at work as long as that. A run of a lost worker may go on beyond that; what
 * counts is the ledger.
 */
import type { Checker, Finding, History, JobSpan, LedgerRow, Run } from '../history.ts'
import { isReturn, runsByExecution, startTimes } from './leases.ts'

interface Work {
  executionId: string
  /** When it fired, or was replayed. */
  admittedAt: number
  from: number
  to: number
}

export const forbidNeverOverlaps: Checker = {
  name: 'forbid-never-overlaps',
  promise: 'Of a job that limits overlap with itself no two executions are at work at the same time.',
  check(history) {
    const byExecution = runsByExecution(history.runs)
    const byJob = Map.groupBy(history.executions, ({ jobId }) => jobId)
    return guardedTimes(history).flatMap(({ jobId, from, to }) => {
      const work = (byJob.get(jobId) ?? []).flatMap((row) => workOf(row, byExecution.get(row.executionId) ?? []))
      const guarded = work.filter(({ admittedAt }) => admittedAt >= from && admittedAt < to)
      return overlaps(guarded, history.slackMs)
    })
  },
}

/** The times in which each job limited overlap without a break. What fired before may overlap with what fires in them. */
function guardedTimes({ spans }: History): { jobId: string; from: number; to: number }[] {
  const times: { jobId: string; from: number; to: number }[] = []
  for (const [jobId, own] of Map.groupBy(spans, (span) => span.jobId)) {
    let from: number | null = null
    for (const { overlap, since } of own.sort(bySince)) {
      if (overlap !== 'ALLOW') from ??= since
      else if (from !== null) {
        times.push({ jobId, from, to: since })
        from = null
      }
    }
    if (from !== null) times.push({ jobId, from, to: Number.POSITIVE_INFINITY })
  }
  return times
}

function bySince(a: JobSpan, b: JobSpan): number {
  return a.since - b.since || a.version - b.version
}

/** One for each life: a person may replay an execution after it ended. */
function workOf(row: LedgerRow, runs: readonly Run[]): Work[] {
  const starts = startTimes(row, runs)
  const lives: { from: number; to: number }[] = []
  let from = Number.NEGATIVE_INFINITY
  for (const [i, transition] of row.transitions.entries()) {
    if (!isReturn(transition)) continue
    lives.push({ from, to: row.transitions[i - 1]?.at ?? transition.at })
    from = transition.at
  }
  lives.push({ from, to: row.finishedAt ?? Number.POSITIVE_INFINITY })
  return lives.flatMap((life) => {
    const first = Math.min(...starts.filter((at) => at >= life.from && at <= life.to))
    if (first === Number.POSITIVE_INFINITY) return []
    return [{ executionId: row.executionId, admittedAt: Math.max(life.from, row.firedAt), from: first, to: life.to }]
  })
}

function overlaps(work: Work[], slackMs: number): Finding[] {
  const findings: Finding[] = []
  let before: Work | null = null
  for (const each of work.sort((a, b) => a.from - b.from)) {
    if (before !== null && each.from + slackMs < before.to) {
      findings.push({
        subject: each.executionId,
        problem: `started at ${each.from}, while ${before.executionId} of the same job was at work until ${before.to}`,
      })
    }
    if (before === null || each.to > before.to) before = each
  }
  return findings
}
