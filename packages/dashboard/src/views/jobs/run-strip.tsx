/**
 * The latest runs, oldest at the left: how long each took (on a logarithmic scale, by height) and how it ended (by colour and
 * shape). One stop for the tab key; the arrows go from run to run.
 */
import type { Execution } from '@carillon/contract'
import { Link } from '@tanstack/react-router'
import { type KeyboardEvent, useRef } from 'react'
import { Answer } from '../../components/answer.tsx'
import { Panel } from '../../components/panel.tsx'
import { StateIcon, stateWord } from '../../components/state-mark.tsx'
import { clockTime, count, duration } from '../../lib/time.ts'
import { Bar, barHeight } from './bar.tsx'
import { useRuns } from './use-runs.ts'

const onPhone = 30

export function RunStrip({ jobId }: { jobId: string }) {
  const runs = useRuns(jobId)
  return (
    <Panel title="History" side="The latest 60, height by duration">
      <Answer of={runs}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="px-4 py-3 text-soft">No runs yet. The first appears here when it fires.</p>
          ) : (
            <Strip runs={items.toReversed()} />
          )
        }
      </Answer>
    </Panel>
  )
}

function Strip({ runs }: { runs: readonly Execution[] }) {
  const list = useRef<HTMLOListElement>(null)
  const took = runs.flatMap(({ durationMs }) => durationMs ?? []).sort((a, b) => a - b)
  const range = { shortestMs: took[0] ?? 1, longestMs: took.at(-1) ?? 1 }
  const move = (event: KeyboardEvent) => {
    const links = Array.from(list.current!.querySelectorAll('a')).filter((link) => link.offsetParent !== null)
    const at = links.indexOf(document.activeElement as HTMLAnchorElement)
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: links.length - 1 }[event.key]
    if (to === undefined || at < 0) return
    event.preventDefault()
    links[to]?.focus()
  }
  return (
    <>
      <ol
        ref={list}
        onKeyDown={move}
        aria-label="Runs, oldest first"
        className="flex h-20 items-end gap-px px-4 pt-3 sm:gap-0.5"
      >
        {runs.map((run, at) => (
          <li
            key={run.executionId}
            className={`max-w-6 min-w-0 flex-1 ${at < runs.length - onPhone ? 'max-sm:hidden' : ''}`}
          >
            <Link
              to="/executions/$executionId"
              params={{ executionId: run.executionId }}
              tabIndex={at === runs.length - 1 ? 0 : -1}
              title={textOf(run)}
              aria-label={textOf(run)}
              className="flex h-16 items-end rounded-sm hover:bg-sunken"
            >
              <Bar state={run.state} height={barHeight(run.durationMs, range)} />
            </Link>
          </li>
        ))}
      </ol>
      <Summary of={runs} took={took} />
    </>
  )
}

/** `took` in order. */
function Summary({ of, took }: { of: readonly Execution[]; took: readonly number[] }) {
  const states = new Map<string, number>()
  for (const { state } of of) states.set(state, (states.get(state) ?? 0) + 1)
  const median = took[took.length >> 1]
  return (
    <p className="flex flex-wrap gap-x-4 gap-y-1 px-4 py-2.5 text-soft">
      {Array.from(states, ([state, many]) => (
        <span key={state} className="inline-flex items-center gap-1.5">
          <StateIcon state={state} /> {count(many)} {stateWord(state).toLowerCase()}
        </span>
      ))}
      {median !== undefined && (
        <span className="sm:ml-auto">
          Median {duration(median)}, longest {duration(took.at(-1))}
        </span>
      )}
    </p>
  )
}

function textOf({ state, scheduledFor, durationMs, error }: Execution): string {
  const took = durationMs === null ? '' : `, took ${duration(durationMs)}`
  const why = error === null || state === 'SUCCEEDED' ? '' : `: ${error.name}`
  return `${stateWord(state)}${why}, ${clockTime(new Date(scheduledFor))}${took}`
}
