/** The latest runs of a graph as marks, oldest at the left. */
import type { DagRunSummary } from '@carillon/contract'
import { Link } from '@tanstack/react-router'
import { StateIcon, stateWord } from '../../components/state-mark.tsx'
import { clockTime, duration } from '../../lib/time.ts'
import { tookMs } from './run-columns.tsx'
import { markOf } from './run-mark.tsx'

const onPhone = 8

export function StateStrip({ runs, name }: { runs: readonly DagRunSummary[]; name: string }) {
  return (
    <ol aria-label={`Latest runs of ${name}, oldest first`} className="flex">
      {runs.map((run, at) => (
        <li key={run.runId} className={at < runs.length - onPhone ? 'max-sm:hidden' : ''}>
          <Link
            to="/dag-runs/$runId"
            params={{ runId: run.runId }}
            // The newest is one stop for the tab key; the others are in the list below.
            tabIndex={at === runs.length - 1 ? 0 : -1}
            title={textOf(run)}
            aria-label={textOf(run)}
            className="flex size-6 items-center justify-center rounded hover:bg-sunken"
          >
            <StateIcon state={markOf(run)} />
          </Link>
        </li>
      ))}
    </ol>
  )
}

function textOf(run: DagRunSummary): string {
  const took = tookMs(run.createdAt, run.finishedAt)
  const when = clockTime(new Date(run.createdAt))
  return `${stateWord(markOf(run))}, ${when}${took === null ? '' : `, took ${duration(took)}`}`
}
