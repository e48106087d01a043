/** A graph: its steps as the next run will have them, and the runs it had. */
import type { Dag as DagRecord } from '@carillon/contract'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { Answer } from '../../components/answer.tsx'
import { Button, LinkButton } from '../../components/button.tsx'
import { Heading, Panel } from '../../components/panel.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import { Time } from '../../components/time.tsx'
import { useMay } from '../../lib/caller.ts'
import { usePages } from '../../lib/pages.ts'
import { useAsk } from '../../lib/queries.ts'
import { duration } from '../../lib/time.ts'
import { Labels } from '../jobs/labels.tsx'
import { DefinedSteps } from './defined-steps.tsx'
import { Runs } from './runs.tsx'
import { StartRun } from './start-run.tsx'

const askEveryMs = 15_000
const runsEveryMs = 5_000
const pageSize = 25

export default function Dag() {
  const { dagId } = useParams({ strict: false }) as { dagId: string }
  const dag = useAsk('getDag', { params: { dagId } }, { everyMs: askEveryMs })
  return (
    <>
      {dag.data === undefined && <Heading title="DAG" />}
      <Answer of={dag}>{(known) => <Known key={known.dagId} dag={known} />}</Answer>
    </>
  )
}

function Known({ dag }: { dag: DagRecord }) {
  const mayWrite = useMay('jobs:write')
  const [isStarting, start] = useState(false)
  const { dagId } = dag
  const runs = usePages('listDagRuns', {
    question: { dagId },
    queryOf: () => ({ dagId, limit: pageSize }),
    everyMs: runsEveryMs,
  })
  return (
    <>
      <p>
        <Link to="/dags" className="text-accent hover:underline">
          All DAGs and runs
        </Link>
      </p>
      <Heading
        title={dag.name}
        about={<About of={dag} />}
        actions={
          mayWrite &&
          dag.state === 'ACTIVE' && (
            <Button kind="main" onClick={() => start(true)}>
              Run…
            </Button>
          )
        }
      />
      <div className="space-y-4">
        <DefinedSteps of={dag} />
        <Panel
          title="Runs"
          side={
            <LinkButton kind="quiet" to="/dags" search={{ dagId }}>
              Filter
            </LinkButton>
          }
        >
          <Runs pages={runs} isFiltered={false} />
        </Panel>
      </div>
      {isStarting && <StartRun of={dag} onClose={() => start(false)} />}
    </>
  )
}

function About({ of: { state, key, name, version, updatedAt, deadlineSec, managedBy, labels } }: { of: DagRecord }) {
  return (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <StateMark state={state} />
      {key !== null && key !== name && <span className="font-mono break-all">{key}</span>}
      <span>
        Version {version}, changed <Time at={updatedAt} />
      </span>
      {deadlineSec !== null && <span>at most {duration(deadlineSec * 1_000)}</span>}
      {managedBy !== null && <span>managed by {managedBy}</span>}
      <Labels of={labels} />
    </span>
  )
}
