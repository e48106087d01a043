/** Handed back or lost before it began, an execution has used no attempt; replayed by a person, it has all of them again. */
import type { Checker, Finding, LedgerRow, Run } from '../history.ts'
import { isReturn, isWhole, runsByExecution } from './leases.ts'

const used = new Set(['FAILED', 'TIMED_OUT', 'WORKER_LOST', 'CANCELLED'])

export const attemptsWithinMaximum: Checker = {
  name: 'attempts-within-maximum',
  promise: 'No execution is tried more often than its policy says, and none is given up for that before.',
  check({ executions, runs }) {
    const byExecution = runsByExecution(runs)
    return executions.flatMap((row) => judge(row, byExecution.get(row.executionId) ?? []))
  },
}

function judge(row: LedgerRow, runs: readonly Run[]): Finding[] {
  const { executionId, attempt, maxAttempts, state, reason } = row
  const findings: Finding[] = []
  const say = (problem: string) => findings.push({ subject: executionId, problem })
  if (attempt > maxAttempts) say(`counts ${attempt} attempts of ${maxAttempts}`)
  const most = Math.max(0, ...runs.map((run) => run.attempt))
  if (most > maxAttempts) say(`was begun as attempt ${most} of ${maxAttempts}`)
  if (isWhole(row)) {
    const life = row.transitions.slice(row.transitions.findLastIndex(isReturn) + 1)
    const failed = life.filter(({ to, fence }) => fence !== null && used.has(to)).length
    const all = failed + (state === 'SUCCEEDED' ? 1 : 0)
    if (all > maxAttempts) say(`was tried ${all} times, and may be ${maxAttempts} times`)
    else if (all !== attempt) say(`counts ${attempt} attempts, and the ledger tells of ${all}`)
  }
  if (state === 'DEAD' && reason === 'ATTEMPTS_USED_UP' && attempt < maxAttempts) {
    say(`is a dead letter after ${attempt} of ${maxAttempts} attempts`)
  }
  return findings
}
