import type { DagRunSummary } from '@carillon/contract'
import { Link } from '@tanstack/react-router'
import { reasonText } from '../../components/execution-columns.tsx'
import type { Column } from '../../components/table.tsx'
import { Time, useNow } from '../../components/time.tsx'
import { count, duration } from '../../lib/time.ts'
import { Labels } from '../jobs/labels.tsx'
import { isOver, RunMark } from './run-mark.tsx'

export function runColumns(onLabel?: (label: string) => void): readonly Column<DagRunSummary>[] {
  return [
    { name: 'State', cell: (run) => <RunMark of={run} /> },
    { name: 'Run', cell: (run) => <Name of={run} onLabel={onLabel} />, isWhole: true },
    { name: 'Steps', isNumber: true, cell: (run) => <Done of={run} /> },
    { name: 'Started', cell: ({ createdAt }) => <Time at={createdAt} /> },
    { name: 'Took', isNumber: true, cell: (run) => <RunTook of={run} /> },
    {
      name: 'Why',
      cell: ({ reason }) => (
        <span className={`text-soft ${reason === null ? 'max-sm:hidden' : ''}`}>
          {reason === null ? '–' : reasonText(reason)}
        </span>
      ),
    },
  ]
}

function Name({
  of: { runId, name, labels },
  onLabel,
}: {
  of: DagRunSummary
  onLabel?: ((label: string) => void) | undefined
}) {
  return (
    <div className="min-w-0">
      <Link to="/dag-runs/$runId" params={{ runId }} className="font-medium break-words text-accent hover:underline">
        {name}
      </Link>
      {Object.keys(labels).length > 0 && (
        <div className="mt-0.5 text-[12px]">
          <Labels of={labels} {...(onLabel && { onLabel })} />
        </div>
      )}
    </div>
  )
}

function Done({ of: { doneCount, stepCount, failedCount } }: { of: DagRunSummary }) {
  return (
    <>
      {count(doneCount)} of {count(stepCount)}
      {failedCount > 0 && <span className="text-bad">, {count(failedCount)} failed</span>}
    </>
  )
}

/** Counts on while it runs. */
export function RunTook({ of }: { of: Pick<DagRunSummary, 'state' | 'createdAt' | 'finishedAt'> }) {
  return isOver(of) ? duration(tookMs(of.createdAt, of.finishedAt)) : <Since at={of.createdAt} />
}

export function Since({ at }: { at: string }) {
  const now = useNow()
  return <span className="text-busy">{duration(Math.max(0, now.getTime() - Date.parse(at)))}</span>
}

/** Null: it has not ended. */
export function tookMs(from: string, to: string | null): number | null {
  return to === null ? null : Math.max(0, Date.parse(to) - Date.parse(from))
}
