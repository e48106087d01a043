/** Judged by the ledger: a step is ready from the time that it became due, which its release writes anew. */
import type { Checker, DagRunRow, LedgerRow } from '../history.ts'
import { lastLife, type Step, stepsOf } from './step-lives.ts'

export const slotsAreKept: Checker = {
  name: 'slots-are-kept',
  promise: 'Of the items of a list never more are ready or running at once than its step allows.',
  check(history) {
    const byRun = Map.groupBy(stepsOf(history), ({ run }) => run.runId)
    return history.dagRuns.flatMap((run) => {
      if (run.concurrency === null) return []
      const most = mostAtOnce((byRun.get(run.runId) ?? []).filter(wasReleased).map(({ row }) => row))
      return most.count <= run.concurrency ? [] : [{ subject: run.runId, problem: problemOf(run, most) }]
    })
  },
}

function problemOf({ concurrency }: DagRunRow, { count, at }: { count: number; at: number }): string {
  return `had ${count} steps ready or running at ${at}, and may have ${concurrency}`
}

/** In its last life. Earlier ones were over when the run was retried, and when they were released nobody knows any more. */
function wasReleased(step: Step): boolean {
  const { dueAt, scheduledFor } = step.row
  return dueAt > scheduledFor && dueAt >= lastLife(step).from
}

/** One that ends makes room for one that is released at the same time. */
function mostAtOnce(rows: readonly LedgerRow[]): { count: number; at: number } {
  const changes = rows
    .flatMap(({ dueAt, finishedAt }) => [
      { at: dueAt, by: 1 },
      { at: finishedAt ?? Number.POSITIVE_INFINITY, by: -1 },
    ])
    .sort((a, b) => a.at - b.at || a.by - b.by)
  let count = 0
  let most = { count: 0, at: 0 }
  for (const { at, by } of changes) {
    count += by
    if (count > most.count) most = { count, at }
  }
  return most
}
