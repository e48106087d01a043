/** The steps as a table: all that the graph says, for those who hear it and on a phone. */
import type { DagRunStep } from '@carillon/contract'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { reasonText } from '../../components/execution-columns.tsx'
import { Panel } from '../../components/panel.tsx'
import { StateIcon, StateMark, stateWord } from '../../components/state-mark.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { count, duration } from '../../lib/time.ts'
import { Since } from './run-columns.tsx'
import { countsOf, stepTookMs } from './steps.ts'

const shownAtFirst = 100

export function StepTable({
  steps,
  critical,
  selected,
  onSelect,
}: {
  steps: readonly DagRunStep[]
  critical: ReadonlySet<string>
  selected: string | undefined
  onSelect: (name: string) => void
}) {
  const [only, showOnly] = useState<string | null>(null)
  const [isWhole, showWhole] = useState(false)
  const counts = countsOf(steps)
  // Its last one may have gone on.
  const chosen = counts.some(([state]) => state === only) ? only : null
  const found = chosen === null ? steps : steps.filter(({ state }) => state === chosen)
  const shown = isWhole ? found : found.slice(0, shownAtFirst)
  const columns: Column<DagRunStep>[] = [
    {
      name: 'Step',
      isWhole: true,
      cell: ({ name }) => (
        <span className="break-words">
          <button
            type="button"
            aria-pressed={name === selected}
            onClick={() => onSelect(name)}
            className="text-left font-medium break-all text-accent hover:underline aria-pressed:underline"
          >
            {name}
          </button>
          {critical.has(name) && (
            <span className="ml-2 rounded border border-accent px-1 text-xs text-accent">critical</span>
          )}
        </span>
      ),
    },
    { name: 'State', cell: ({ state }) => <StateMark state={state} /> },
    { name: 'Attempt', isNumber: true, cell: ({ attempt }) => <Attempt number={attempt} /> },
    { name: 'Took', isNumber: true, cell: (step) => <StepTook of={step} /> },
    { name: 'Why', isWhole: true, cell: (step) => <Why of={step} /> },
  ]
  return (
    <Panel title="Steps" side={`${count(steps.length)}, in order of dependency`}>
      {counts.length > 1 && <States counts={counts} chosen={chosen} onChoose={showOnly} />}
      <Table rows={shown} columns={columns} keyOf={({ name }) => name} caption="Steps of the run" flows />
      {shown.length < found.length && (
        <div className="border-t border-line p-3 text-center">
          <Button onClick={() => showWhole(true)}>Show all {count(found.length)}</Button>
        </div>
      )}
    </Panel>
  )
}

function States({
  counts,
  chosen,
  onChoose,
}: {
  counts: [string, number][]
  chosen: string | null
  onChoose: (state: string | null) => void
}) {
  return (
    <fieldset className="flex flex-wrap gap-1 border-b border-line px-3 py-2">
      <legend className="sr-only">Only steps in this state</legend>
      {[null, ...counts].map((each) => {
        const state = each === null ? null : each[0]
        return (
          <button
            key={state ?? 'all'}
            type="button"
            aria-pressed={state === chosen}
            onClick={() => onChoose(state)}
            className="inline-flex items-center gap-1.5 rounded-full border border-transparent px-2.5 py-0.5 hover:bg-sunken aria-pressed:border-accent aria-pressed:bg-accent-soft"
          >
            {each === null ? (
              'All'
            ) : (
              <>
                <StateIcon state={each[0]} /> {count(each[1])} {stateWord(each[0]).toLowerCase()}
              </>
            )}
          </button>
        )
      })}
    </fieldset>
  )
}

/** On a phone, where columns have no names, it says what it is. */
function Attempt({ number }: { number: number }) {
  if (number === 0) return <span className="max-sm:sr-only">–</span>
  return (
    <>
      <span className="sm:hidden">attempt </span>
      {number}
    </>
  )
}

export function StepTook({ of }: { of: DagRunStep }) {
  if (of.state === 'RUNNING' && of.startedAt !== null) return <Since at={of.startedAt} />
  return <>{duration(stepTookMs(of))}</>
}

function Why({ of: { state, error, reason, waitsFor, dependsOn } }: { of: DagRunStep }) {
  if (state === 'BLOCKED') {
    return (
      <span className="text-soft">
        {waitsFor === 0
          ? 'about to start'
          : `waits for ${count(waitsFor)} of the ${count(dependsOn.length)} it depends on`}
      </span>
    )
  }
  if (error !== null && state !== 'SUCCEEDED') {
    return (
      <span className="line-clamp-2 break-words" title={`${error.name}: ${error.message}`}>
        <span className="font-medium">{error.name}</span> <span className="text-soft">{error.message}</span>
      </span>
    )
  }
  if (reason === null) return <span className="text-soft max-sm:sr-only">–</span>
  return <span className="text-soft">{reasonText(reason)}</span>
}
