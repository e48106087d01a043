/** One step: where it is and why, what it waits for, and what waits for it. */
import type { DagRunStep, StartedRun } from '@carillon/contract'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { Button, LinkButton } from '../../components/button.tsx'
import { reasonText } from '../../components/execution-columns.tsx'
import { Facts, Panel } from '../../components/panel.tsx'
import { StateIcon, StateMark, stateWord } from '../../components/state-mark.tsx'
import { Time } from '../../components/time.tsx'
import { useAsk } from '../../lib/queries.ts'
import { count } from '../../lib/time.ts'
import { ErrorPanel } from '../executions/data.tsx'
import { Explain } from '../executions/explain.tsx'
import { isEnd } from '../executions/filter.ts'
import { SignalStep } from './signal-step.tsx'
import { StepTook } from './step-table.tsx'
import { startedText } from './steps.ts'

const explainEveryMs = 3_000
const mostNamed = 12

export function StepDetail({
  runId,
  step,
  stateOf,
  dependants,
  takesFocus,
  onSelect,
  onClose,
}: {
  runId: string
  step: DagRunStep
  stateOf: (name: string) => string
  dependants: readonly string[]
  /** It was chosen by hand, outside the graph: the reader goes on here. */
  takesFocus: boolean
  onSelect: (name: string) => void
  onClose: () => void
}) {
  const place = useRef<HTMLElement>(null)
  const { name, executionId, state, reason, attempt, handler, dependsOn, error, run } = step
  useEffect(() => {
    if (!takesFocus) return
    place.current!.focus({ preventScroll: true })
    place.current!.scrollIntoView({ block: 'nearest' })
  }, [name, takesFocus])
  const named = (names: readonly string[]) => <Names names={names} stateOf={stateOf} onSelect={onSelect} />
  const facts: [string, ReactNode][] = [
    ['State', <StateMark key="state" state={state} />],
    ...(reason === null ? [] : [['Reason', reasonText(reason)] as [string, ReactNode]]),
    [
      'Handler',
      <span key="handler" className="font-mono text-[13px] break-all">
        {handler}
      </span>,
    ],
    ['Attempts', attempt === 0 ? 'none yet' : attempt],
    ['Started', <Time key="started" at={step.startedAt} exact />],
    ['Finished', <Time key="finished" at={step.finishedAt} exact />],
    ['Took', <StepTook key="took" of={step} />],
    ...(run === null ? [] : [['Its run', <Started key="run" of={run} />] as [string, ReactNode]]),
    ['Depends on', named(dependsOn)],
    ['Dependants', named(dependants)],
  ]
  return (
    <section
      ref={place}
      tabIndex={-1}
      aria-label={`Step ${name}`}
      className="grid min-w-0 scroll-my-4 gap-4 rounded-lg outline-none focus-visible:outline-2"
    >
      <Panel
        title={<span className="break-all">{name}</span>}
        side={
          <Button kind="quiet" className="-my-1.5" aria-label="Close the step" onClick={onClose}>
            ✕
          </Button>
        }
      >
        <Facts facts={facts} />
        <div className="flex flex-wrap gap-2 px-4 pb-3">
          <SignalStep runId={runId} step={step} />
          <LinkButton to="/executions/$executionId" params={{ executionId }}>
            Open its execution
          </LinkButton>
        </div>
      </Panel>
      {error !== null && state !== 'SUCCEEDED' && <ErrorPanel error={error} />}
      {!isEnd(state) && <Doing executionId={executionId} />}
    </section>
  )
}

function Started({ of: run }: { of: StartedRun }) {
  return (
    <>
      <Link to="/dag-runs/$runId" params={{ runId: run.runId }} className="text-accent hover:underline">
        {stateWord(run.state)}
      </Link>
      , {startedText(run)}
    </>
  )
}

function Doing({ executionId }: { executionId: string }) {
  return <Explain explanation={useAsk('explainExecution', { params: { executionId } }, { everyMs: explainEveryMs })} />
}

function Names({
  names,
  stateOf,
  onSelect,
}: {
  names: readonly string[]
  stateOf: (name: string) => string
  onSelect: (name: string) => void
}) {
  if (names.length === 0) return <span className="text-soft">none</span>
  return (
    <ul className="space-y-0.5">
      {names.slice(0, mostNamed).map((name) => (
        <li key={name}>
          <button
            type="button"
            onClick={() => onSelect(name)}
            className="inline-flex items-center gap-1.5 text-left break-all text-accent hover:underline"
          >
            <StateIcon state={stateOf(name)} />
            <span className="sr-only">{stateWord(stateOf(name))}: </span>
            {name}
          </button>
        </li>
      ))}
      {names.length > mostNamed && <li className="text-soft">and {count(names.length - mostNamed)} more</li>}
    </ul>
  )
}
