/**
 * A handler may run to its end twice: its worker was taken for lost, or its report came too late. Then only one of the
 * runs counts, and the ledger says of the other how its lease ended. A run that succeeded under a fence of which the ledger
 * knows no other end was accepted; two of those are a doubled run.
 */
import type { Checker, Finding, LedgerRow, Run } from '../history.ts'
import { hasEnded, isWhole, leaseEnds, runsByExecution } from './leases.ts'

export const succeedsOnce: Checker = {
  name: 'succeeds-once',
  promise: 'No occurrence has two rows, and no execution is run to an accepted success twice.',
  check({ executions, runs }) {
    const byExecution = runsByExecution(runs)
    return [
      ...doubledRows(executions),
      ...executions.flatMap((row) => countedSuccesses(row, byExecution.get(row.executionId) ?? [])),
    ]
  },
}

function doubledRows(executions: readonly LedgerRow[]): Finding[] {
  const seen = new Set<string>()
  const findings: Finding[] = []
  const see = (key: string, finding: Finding) => {
    if (seen.has(key)) findings.push(finding)
    seen.add(key)
  }
  for (const { executionId, jobId, origin, scheduledFor } of executions) {
    see(executionId, { subject: executionId, problem: 'is in the ledger twice' })
    if (jobId === executionId || (origin !== 'SCHEDULE' && origin !== 'BACKFILL')) continue
    const problem = `is a second row for the occurrence of ${jobId} at ${scheduledFor}`
    see(`${jobId} ${scheduledFor}`, { subject: executionId, problem })
  }
  return findings
}

function countedSuccesses(row: LedgerRow, runs: readonly Run[]): Finding[] {
  if (!hasEnded(row) || !isWhole(row)) return []
  const ended = leaseEnds(row)
  const final = row.state === 'SUCCEEDED' ? row.fence : null
  const succeeded = new Set(runs.filter(({ what }) => what === 'SUCCEEDED').map(({ fence }) => fence))
  return [...succeeded]
    .filter((fence) => fence !== final && !ended.has(fence))
    .map((fence) => ({
      subject: row.executionId,
      problem:
        `ran to success under fence ${fence}, of which the ledger knows no other end, ` +
        `and is ${row.state} under fence ${row.fence}`,
    }))
}
