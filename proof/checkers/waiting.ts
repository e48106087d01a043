/** How long executions waited for their start, of those that only a free worker could keep waiting. */
import type { History, LedgerRow } from '../history.ts'
import { hasEnded, runsByExecution } from './leases.ts'

export interface Wait {
  row: LedgerRow
  from: number
  /** When its handler began; the end of the observed time if it did not. */
  to: number
  began: boolean
}

/** Left out: backfills, which go behind live work, what its job's own policy or a limit lets wait, and what ended without a start. */
export function waits({ executions, spans, runs, to }: History): Wait[] {
  const guarded = new Set(spans.filter(({ overlap }) => overlap !== 'ALLOW').map(({ jobId }) => jobId))
  const byExecution = runsByExecution(runs)
  return executions
    .filter(({ jobId, origin, limits }) => !guarded.has(jobId) && origin !== 'BACKFILL' && limits.length === 0)
    .flatMap((row): Wait[] => {
      // Late though it fired: that is another matter.
      const from = Math.max(row.dueAt, row.firedAt)
      const starts = (byExecution.get(row.executionId) ?? []).filter(({ what }) => what === 'BEGAN')
      if (starts.length > 0) return [{ row, from, to: Math.min(...starts.map(({ at }) => at)), began: true }]
      return hasEnded(row) ? [] : [{ row, from, to, began: false }]
    })
}
