/** A run of a graph while it happens and afterwards. What the graph shows, the table of steps says. */
import type { DagRun } from '@carillon/contract'
import { Link, useParams } from '@tanstack/react-router'
import { useCallback, useMemo, useState } from 'react'
import { Answer } from '../../components/answer.tsx'
import { reasonText } from '../../components/execution-columns.tsx'
import { Json } from '../../components/json.tsx'
import { Heading, Panel } from '../../components/panel.tsx'
import { ProgressBar } from '../../components/progress-bar.tsx'
import { Time } from '../../components/time.tsx'
import { useFilters } from '../../lib/filters.ts'
import { count, duration } from '../../lib/time.ts'
import { Id } from '../executions/facts.tsx'
import { Labels } from '../jobs/labels.tsx'
import { GraphPanel } from './graph-panel.tsx'
import { RunActions } from './run-actions.tsx'
import { RunTook } from './run-columns.tsx'
import { isOver, RunMark } from './run-mark.tsx'
import { StepDetail } from './step-detail.tsx'
import { StepTable } from './step-table.tsx'
import { criticalPath, dependantsOf, graphStepOf } from './steps.ts'
import { useRun } from './use-run.ts'

export default function Run() {
  const { runId } = useParams({ strict: false }) as { runId: string }
  const run = useRun(runId)
  return (
    <>
      {run.data === undefined && <Heading title="Run" />}
      <Answer of={run}>{(known) => <Known key={runId} run={known} />}</Answer>
    </>
  )
}

function Known({ run }: { run: DagRun }) {
  const [{ step: selected }, change] = useFilters()
  const [chosenByHand, choose] = useState(false)
  const { steps } = run
  const byName = useMemo(() => new Map(steps.map((step) => [step.name, step])), [steps])
  const dependants = useMemo(() => dependantsOf(steps), [steps])
  const chain = useMemo(() => (isOver(run) ? criticalPath(run) : null), [run])
  const critical = useMemo(() => new Set(chain?.names), [chain])
  const graphSteps = useMemo(() => steps.map(graphStepOf), [steps])
  const select = (step: string | undefined) => {
    choose(true)
    change({ step })
  }
  const selectInGraph = useCallback(
    (step: string) => {
      choose(false)
      change({ step })
    },
    [change],
  )
  const shown = selected === undefined ? undefined : byName.get(selected)
  return (
    <>
      <p>
        <Link to="/dags" className="text-accent hover:underline">
          All DAGs and runs
        </Link>
      </p>
      <Heading title={run.name} about={<About of={run} />} actions={<RunActions of={run} />} />
      <div className="grid gap-4">
        <Panel>
          <Summary of={run} />
          {chain !== null && chain.names.length > 1 && (
            <p className="border-t border-line px-4 py-2 break-words">
              <span className="text-soft">Critical path, {duration(chain.tookMs)}:</span> <Path names={chain.names} />
            </p>
          )}
        </Panel>
        {!run.fanOut && (
          <GraphPanel
            shape={run.runId}
            steps={graphSteps}
            critical={chain?.names ?? none}
            selected={selected}
            onSelect={selectInGraph}
          />
        )}
        <div className={`grid items-start gap-4 ${shown ? 'xl:grid-cols-[minmax(0,1fr)_24rem]' : ''}`}>
          {shown && (
            <div className="min-w-0 xl:sticky xl:top-4 xl:order-last">
              <StepDetail
                runId={run.runId}
                step={shown}
                stateOf={(name) => byName.get(name)!.state}
                dependants={dependants.get(shown.name)!}
                takesFocus={chosenByHand}
                onSelect={select}
                onClose={() => select(undefined)}
              />
            </div>
          )}
          <StepTable steps={steps} critical={critical} selected={selected} onSelect={select} />
        </div>
        {run.payload !== null && (
          <Panel>
            <Json name="Payload" value={run.payload} />
          </Panel>
        )}
      </div>
    </>
  )
}

const none: readonly string[] = []

function About({ of: run }: { of: DagRun }) {
  return (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <RunMark of={run} />
      {run.reason !== null && <span>{reasonText(run.reason)}</span>}
      {run.dagId !== null && (
        <Link to="/dags/$dagId" params={{ dagId: run.dagId }} className="text-accent hover:underline">
          DAG, version {run.dagVersion}
        </Link>
      )}
      {run.startedBy !== null && (
        <Link
          to="/executions/$executionId"
          params={{ executionId: run.startedBy }}
          className="text-accent hover:underline"
        >
          The execution that started it
        </Link>
      )}
      <Id id={run.runId} name="run id" />
      <Labels of={run.labels} />
    </span>
  )
}

function Summary({ of: run }: { of: DagRun }) {
  const { doneCount, stepCount, failedCount, createdAt, deadlineAt } = run
  return (
    <div className="space-y-2 px-4 py-3">
      <ProgressBar share={doneCount / stepCount} label="Steps that have ended" />
      <p className="flex flex-wrap gap-x-4 gap-y-1">
        <span role="status">
          {count(doneCount)} of {count(stepCount)} {stepCount === 1 ? 'step' : 'steps'} done
          {failedCount > 0 && <span className="text-bad">, {count(failedCount)} failed</span>}
        </span>
        <span className="text-soft">
          started <Time at={createdAt} />
        </span>
        <span className="text-soft">
          {isOver(run) ? 'took' : 'for'} <RunTook of={run} />
        </span>
        {deadlineAt !== null && !isOver(run) && (
          <span className="text-soft">
            deadline <Time at={deadlineAt} />
          </span>
        )}
      </p>
    </div>
  )
}

const mostNamed = 12

function Path({ names }: { names: readonly string[] }) {
  const left = names.length - mostNamed
  const shown = left > 0 ? [...names.slice(0, mostNamed - 1), `${count(left)} more`, names.at(-1)!] : names
  return shown.join(' → ')
}
