/**
 * An execution counts from the start of an attempt until the ledger says how that attempt ended. A run of a lost worker may go on beyond that;
 * what counts is the ledger.
 */
import type { Checker, Finding, LedgerRow, Run } from '../history.ts'
import { isWhole, leaseEnds, rightfulStarts, runsByExecution } from './leases.ts'

interface Change {
  at: number
  by: 1 | -1
  executionId: string
}

export const limitsAreKept: Checker = {
  name: 'limits-are-kept',
  promise: 'Of what a limit counts never more is at work at the same time than it allows.',
  check(history) {
    const { executions, runs, slackMs } = history
    const byExecution = runsByExecution(runs)
    const keys = new Map<string, { concurrency: number; changes: Change[] }>()
    for (const row of executions) {
      if (row.limits.length === 0 || !isWhole(row)) continue
      const changes = changesOf(row, byExecution.get(row.executionId) ?? [], slackMs)
      for (const { key, concurrency } of row.limits) {
        const known = keys.get(key) ?? { concurrency, changes: [] }
        known.changes.push(...changes)
        keys.set(key, known)
      }
    }
    return [...keys].flatMap(([key, { concurrency, changes }]) => above(key, concurrency, changes))
  },
}

function changesOf(row: LedgerRow, runs: readonly Run[], slackMs: number): Change[] {
  const { executionId } = row
  const ended = leaseEnds(row)
  return rightfulStarts(row, runs).flatMap(({ fence, at }) => {
    const [from, to] = [at + slackMs, ended.get(fence) ?? row.finishedAt ?? Number.POSITIVE_INFINITY]
    if (from >= to) return []
    return [
      { at: from, by: 1, executionId },
      { at: to, by: -1, executionId },
    ]
  })
}

function above(key: string, concurrency: number, changes: Change[]): Finding[] {
  let count = 0
  for (const { at, by, executionId } of changes.sort((a, b) => a.at - b.at || a.by - b.by)) {
    count += by
    if (count > concurrency) {
      return [
        {
          subject: executionId,
          problem: `was the ${count}th at work under ${key} at ${at}, which allows ${concurrency}`,
        },
      ]
    }
  }
  return []
}
