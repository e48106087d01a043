/** The graphs of a tenant, each with what became of its latest runs. */
import type { Dag, DagRunSummary } from '@carillon/contract'
import { Link } from '@tanstack/react-router'
import { Loading, Nothing, Trouble } from '../../components/answer.tsx'
import { Button } from '../../components/button.tsx'
import { Panel } from '../../components/panel.tsx'
import { type Column, More, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import type { Pages } from '../../lib/pages.ts'
import { count } from '../../lib/time.ts'
import { Labels } from '../jobs/labels.tsx'
import { StateStrip } from './state-strip.tsx'

const stripLength = 12

export function Graphs({
  pages,
  latest,
  onRun,
}: {
  pages: Pages<Dag>
  /** The latest runs of all graphs, newest first; undefined until they are known. */
  latest: readonly DagRunSummary[] | undefined
  /** Left out: the caller may not start runs. */
  onRun?: (dag: Dag) => void
}) {
  const { items, error } = pages
  if (items === undefined) {
    return (
      <Panel title="Definitions">{error === null ? <Loading /> : <Trouble error={error} again={pages.again} />}</Panel>
    )
  }
  const byGraph = Map.groupBy(latest ?? [], ({ dagId }) => dagId)
  const columns: Column<Dag>[] = [
    { name: 'DAG', cell: (dag) => <Name of={dag} /> },
    { name: 'Steps', isNumber: true, cell: ({ steps }) => count(steps.length) },
    { name: 'Version', isNumber: true, isWide: true, cell: ({ version }) => version },
    { name: 'Changed', isWide: true, cell: ({ updatedAt }) => <Time at={updatedAt} /> },
    {
      name: 'Latest runs',
      cell: (dag) => <Latest of={dag} runs={byGraph.get(dag.dagId)} isKnown={latest !== undefined} />,
    },
    ...(onRun
      ? [
          {
            name: 'Action',
            isNumber: true,
            cell: (dag: Dag) => (
              <Button className="min-h-7! py-0!" aria-label={`Run ${dag.name}…`} onClick={() => onRun(dag)}>
                Run…
              </Button>
            ),
          },
        ]
      : []),
  ]
  return (
    <Panel title="Definitions">
      {items.length === 0 && !pages.hasMore ? (
        <NoGraphs mayWrite={onRun !== undefined} />
      ) : (
        <Table rows={items} columns={columns} keyOf={({ dagId }) => dagId} caption="DAGs, newest first" />
      )}
      <More hasMore={pages.hasMore} busy={pages.busy} onMore={pages.more} />
    </Panel>
  )
}

function Name({ of: { dagId, name, key, labels } }: { of: Dag }) {
  return (
    <div className="min-w-0">
      <Link to="/dags/$dagId" params={{ dagId }} className="font-medium break-words text-accent hover:underline">
        {name}
      </Link>
      {key !== null && key !== name && <span className="ml-2 font-mono text-[13px] break-all text-soft">{key}</span>}
      {Object.keys(labels).length > 0 && (
        <div className="mt-0.5 text-[12px]">
          <Labels of={labels} />
        </div>
      )}
    </div>
  )
}

function Latest({ of, runs, isKnown }: { of: Dag; runs: DagRunSummary[] | undefined; isKnown: boolean }) {
  if (runs) return <StateStrip name={of.name} runs={runs.slice(0, stripLength).toReversed()} />
  if (!isKnown) return null
  // One request tells of the latest runs of all graphs; of one that runs seldom there may be older ones.
  return (
    <Link to="/dags/$dagId" params={{ dagId: of.dagId }} className="text-soft hover:underline">
      none of late
    </Link>
  )
}

function NoGraphs({ mayWrite }: { mayWrite: boolean }) {
  return (
    <Nothing title="No DAGs yet">
      <p>A DAG is a graph of steps that depend on one another. Its runs appear below.</p>
      {mayWrite && (
        <pre className="mx-auto mt-3 w-fit max-w-full rounded-md bg-sunken px-3 py-2 text-left font-mono text-[13px] whitespace-pre-wrap text-ink">
          carillon dags create -f nightly.yaml
        </pre>
      )}
    </Nothing>
  )
}
