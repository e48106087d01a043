/**
 * Seen from the leases if somebody saw them all. Without them, from what the workers wrote down: when a run begins under the
 * next fence, the ledger must already say how the lease before ended. A run of the lease before may go on; what counts is
 * the ledger, which refuses it.
 */
import type { Checker, Finding, History, Lease, LedgerRow, Run } from '../history.ts'
import { isWhole, leaseEnds, runsByExecution } from './leases.ts'

export const oneLeaseAtATime: Checker = {
  name: 'one-lease-at-a-time',
  promise: 'At any moment at most one worker holds an execution, and under one lease it begins once.',
  check(history) {
    return [...(history.leases ? sharedLeases(history.leases) : overtakenLeases(history)), ...begunTwice(history.runs)]
  },
}

function sharedLeases(leases: readonly Lease[]): Finding[] {
  const byExecution = Map.groupBy(leases, ({ executionId }) => executionId)
  return [...byExecution.values()].flatMap((own) => {
    own.sort((a, b) => a.fence - b.fence)
    return pairs(own)
      .filter(([before, after]) => before.until === null || before.until > after.at)
      .map(([before, after]) => ({
        subject: after.executionId,
        problem:
          `was leased to ${after.workerId} under fence ${after.fence} at ${after.at}, while ${before.workerId} ` +
          `held it under fence ${before.fence} until ${before.until ?? 'now'}`,
      }))
  })
}

function overtakenLeases({ executions, runs, slackMs }: History): Finding[] {
  const byExecution = runsByExecution(runs)
  return executions.flatMap((row) => overtaken(row, byExecution.get(row.executionId) ?? [], slackMs))
}

function overtaken(row: LedgerRow, runs: readonly Run[], slackMs: number): Finding[] {
  const starts = runs.filter(({ what }) => what === 'BEGAN').sort((a, b) => a.fence - b.fence)
  if (starts.length < 2 || !isWhole(row)) return []
  const ended = leaseEnds(row)
  return pairs(starts)
    .filter(([before, after]) => {
      const end = ended.get(before.fence)
      return before.fence !== after.fence && (end === undefined || end > after.at + slackMs)
    })
    .map(([before, after]) => ({
      subject: row.executionId,
      problem:
        `was begun by ${after.worker} under fence ${after.fence} at ${after.at}, and by the ledger the lease of ` +
        `${before.worker} under fence ${before.fence} ended ${ended.has(before.fence) ? `at ${ended.get(before.fence)}` : 'never'}`,
    }))
}

function begunTwice(runs: readonly Run[]): Finding[] {
  const begun = Map.groupBy(
    runs.filter(({ what }) => what === 'BEGAN'),
    ({ executionId, fence }) => `${executionId} ${fence}`,
  )
  return [...begun.values()]
    .filter((own) => own.length > 1)
    .map((own) => ({
      subject: own[0]!.executionId,
      problem: `was begun ${own.length} times under fence ${own[0]!.fence}, by ${own.map(({ worker }) => worker).join(', ')}`,
    }))
}

function pairs<T>(items: readonly T[]): [T, T][] {
  return items.slice(1).map((item, i) => [items[i]!, item])
}
