import type { Checker, Finding, LedgerRow } from '../history.ts'
import { runsByExecution } from './leases.ts'

/** Recorded when it is known that they will not fire, which may be before they would have been due. */
const foreseen = new Set(['EDITED', 'PAUSED'])

export const neverEarly: Checker = {
  name: 'never-early',
  promise: 'Nothing fires before it is due, and no handler starts before its nominal time.',
  check({ executions, runs, slackMs }) {
    const byExecution = runsByExecution(runs)
    // A submission that is due now is dated by the node that takes it.
    const scheduled = executions.filter(({ origin }) => origin === 'SCHEDULE' || origin === 'BACKFILL')
    return scheduled.flatMap((row) => {
      const { executionId, scheduledFor, dueAt, firedAt, startedAt } = row
      const findings: Finding[] = []
      const say = (problem: string) => findings.push({ subject: executionId, problem })
      if (firedAt < dueAt && !wasForeseen(row)) {
        say(`fired at ${firedAt}, ${dueAt - firedAt} ms before it was due`)
      }
      if (startedAt !== null && startedAt < scheduledFor) {
        say(`started at ${startedAt} by the ledger, ${scheduledFor - startedAt} ms before its nominal time`)
      }
      for (const { what, at, worker } of byExecution.get(executionId) ?? []) {
        if (what !== 'BEGAN' || at + slackMs >= scheduledFor) continue
        say(`was begun by ${worker} at ${at}, ${scheduledFor - at} ms before its nominal time`)
      }
      return findings
    })
  },
}

/** Skipped ahead of time, though a backfill may have filled it since: its row is as old as the skip. */
function wasForeseen({ state, reason, transitions }: LedgerRow): boolean {
  return [{ to: state, reason }, ...transitions].some(
    (each) => each.to === 'SKIPPED' && each.reason !== null && foreseen.has(each.reason),
  )
}
