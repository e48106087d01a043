/** The steps of a graph as they are defined, drawn and as a table. */
import type { Dag, DagStep } from '@carillon/contract'
import { useState } from 'react'
import { reasonText } from '../../components/execution-columns.tsx'
import { Panel } from '../../components/panel.tsx'
import { Table } from '../../components/table.tsx'
import { count } from '../../lib/time.ts'
import { targetText } from '../jobs/target.ts'
import { GraphPanel } from './graph-panel.tsx'

export function DefinedSteps({ of: { dagId, version, steps } }: { of: Dag }) {
  const [selected, select] = useState<string | undefined>(undefined)
  const drawn = steps.map(({ name, dependsOn = [], ...step }) => ({ name, dependsOn, about: workOf(step) }))
  return (
    <>
      <GraphPanel shape={`${dagId} ${version}`} steps={drawn} critical={none} selected={selected} onSelect={select} />
      <Panel title="Steps" side={count(steps.length)}>
        <Table
          rows={steps}
          keyOf={({ name }) => name}
          caption="Steps of the DAG"
          columns={[
            {
              name: 'Step',
              cell: ({ name }) => (
                <span className={`font-medium break-all ${name === selected ? 'text-accent' : ''}`}>{name}</span>
              ),
            },
            {
              name: 'Runs',
              cell: (step) => <span className="font-mono text-[13px] break-all">{workOf(step)}</span>,
            },
            {
              name: 'Depends on',
              cell: ({ dependsOn = [] }) => <span className="break-words">{listed(dependsOn)}</span>,
            },
            { name: 'If', cell: (step) => conditionOf(step) },
          ]}
        />
      </Panel>
    </>
  )
}

const none: readonly string[] = []
const mostNamed = 6

function listed(names: readonly string[]): string {
  if (names.length === 0) return '–'
  const more = names.length - mostNamed
  return `${names.slice(0, mostNamed).join(', ')}${more > 0 ? ` and ${count(more)} more` : ''}`
}

function conditionOf({ runIf = 'ALL_SUCCEEDED', when, allowFailure = false }: DagStep): string {
  return `${reasonText(runIf)}${when ? `, when ${when}` : ''}${allowFailure ? ', may fail' : ''}`
}

function workOf({ target, forEach }: Pick<DagStep, 'target' | 'forEach'>): string {
  if (target === undefined) return 'waits for a signal'
  const text = targetText({ target })
  const placed = target.pool === undefined ? text : `${text} · ${target.pool}`
  return forEach === undefined ? placed : `${placed}, for each of ${forEach}`
}
