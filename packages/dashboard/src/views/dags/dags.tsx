/** All graphs, and the runs of all of them by filters that live in the address. */
import type { Dag } from '@carillon/contract'
import { useState } from 'react'
import { Heading, Panel } from '../../components/panel.tsx'
import { useMay } from '../../lib/caller.ts'
import { currentTime } from '../../lib/clock.ts'
import { useFilters } from '../../lib/filters.ts'
import { usePages } from '../../lib/pages.ts'
import { useAsk } from '../../lib/queries.ts'
import { isFiltered, queryOf, questionOf } from './filter.ts'
import { Graphs } from './graphs.tsx'
import { RunFilters } from './run-filters.tsx'
import { Runs } from './runs.tsx'
import { StartRun } from './start-run.tsx'

const pageSize = 50
const askEveryMs = 5_000
/** Graphs come with the definitions of their steps, which change seldom. */
const graphsPageSize = 50
const graphsEveryMs = 30_000
/** So many runs of all graphs, for the strips. */
const latestCount = 200
const latestEveryMs = 10_000

export default function Dags() {
  const [filters, change] = useFilters()
  const mayWrite = useMay('jobs:write')
  const [starting, start] = useState<Dag | null>(null)
  const graphs = usePages('listDags', {
    question: {},
    queryOf: () => ({ limit: graphsPageSize }),
    everyMs: graphsEveryMs,
  })
  const latest = useAsk('listDagRuns', { query: { limit: latestCount } }, { everyMs: latestEveryMs })
  const runs = usePages('listDagRuns', {
    question: questionOf(filters),
    queryOf: () => ({ ...queryOf(filters, currentTime()), limit: pageSize }),
    everyMs: askEveryMs,
  })
  return (
    <>
      <Heading title="DAGs" about="Definitions and runs" />
      <div className="space-y-4">
        <Graphs pages={graphs} latest={latest.data?.items} {...(mayWrite && { onRun: start })} />
        <Panel title="Runs" side="newest first">
          <RunFilters filters={filters} change={change} graphs={graphs.items ?? []} />
          <Runs pages={runs} isFiltered={isFiltered(filters)} onLabel={(label) => change({ label })} />
        </Panel>
      </div>
      {starting && <StartRun of={starting} onClose={() => start(null)} />}
    </>
  )
}
