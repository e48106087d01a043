/** Why a job is paused, as far as the caller may know: who paused it is in the audit, which is for admins. */
import type { AuditEntry, Execution, Job } from '@carillon/contract'
import { Time } from '../../components/time.tsx'
import { useMay } from '../../lib/caller.ts'
import { useAsk } from '../../lib/queries.ts'

export function Paused({ of }: { of: Job & { executions: Execution[] } }) {
  return of.state === 'PAUSED' ? <Why of={of} /> : null
}

function Why({ of: { jobId, pauseAfterFailures, executions, updatedAt } }: { of: Job & { executions: Execution[] } }) {
  const mayAudit = useMay('admin')
  const audit = useAsk(
    'listAudit',
    { query: { action: 'job.paused', subject: jobId, limit: 1 } },
    { enabled: mayAudit },
  )
  const entry = audit.data?.items[0]
  const failed = executions.findIndex(({ state }) => state !== 'DEAD' && state !== 'SKIPPED')
  const deadInARow = failed === -1 ? executions.length : failed
  const byFailures =
    entry === undefined ? pauseAfterFailures !== null && deadInARow >= pauseAfterFailures : isByFailures(entry)
  return (
    <p className="mb-4 rounded-lg border border-line bg-panel px-4 py-2.5">
      <span className="font-medium text-warn">Paused</span> <Time at={entry?.at ?? updatedAt} />
      {byFailures ? (
        <> after {failuresOf(entry) ?? pauseAfterFailures} dead executions in a row. Mend what fails, then resume it.</>
      ) : entry !== undefined ? (
        <>
          {' '}
          by <span className="font-mono break-all">{entry.actor}</span>.
        </>
      ) : (
        '. Nothing fires until it is resumed.'
      )}{' '}
      <span className="text-soft">Occurrences that pass meanwhile are recorded as skipped.</span>
    </p>
  )
}

function isByFailures({ detail }: AuditEntry): boolean {
  return (detail as { reason?: string } | null)?.reason === 'FAILURES'
}

function failuresOf(entry: AuditEntry | undefined): number | undefined {
  return (entry?.detail as { failures?: number } | null | undefined)?.failures
}
