/** The life of an execution on one axis of time: each span is a line of a list and a bar at its place. */
import type { Execution } from '@carillon/contract'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Panel } from '../../components/panel.tsx'
import { StateIcon, stateWord } from '../../components/state-mark.tsx'
import { useNow } from '../../components/time.tsx'
import { clockTime, duration } from '../../lib/time.ts'
import { isEnd } from './filter.ts'
import { type Span, spansOf } from './spans.ts'

/** Of more, the first and the last are shown until all are asked for. */
const shownAtFirst = 10

export function Timeline({ execution }: { execution: Execution }) {
  return isEnd(execution.state) ? <Drawn execution={execution} now={0} /> : <Growing execution={execution} />
}

function Growing({ execution }: { execution: Execution }) {
  return <Drawn execution={execution} now={useNow().getTime()} />
}

function Drawn({ execution, now }: { execution: Execution; now: number }) {
  const [isWhole, showWhole] = useState(false)
  const spans = spansOf(execution, now)
  const from = new Date(execution.dueAt).getTime()
  const to = Math.max(from + 1, ...spans.map((span) => span.to))
  const hidden = isWhole ? 0 : Math.max(0, spans.length - shownAtFirst)
  const shown = hidden === 0 ? spans : [...spans.slice(0, 2), ...spans.slice(2 + hidden)]
  return (
    <Panel title="Timeline" side={`${duration(to - from)} from due to ${isEnd(execution.state) ? 'end' : 'now'}`}>
      {spans.length === 0 ? (
        <p className="px-4 py-3 text-soft">
          It was recorded as {stateWord(execution.state).toLowerCase()} when it was due.
        </p>
      ) : (
        <div className="px-4 py-3">
          <ol className="space-y-2 sm:space-y-1">
            {shown.map((span, i) => (
              <Line
                key={`${span.name}${span.from}`}
                span={span}
                from={from}
                to={to}
                isAfterGap={hidden > 0 && i === 2}
              />
            ))}
          </ol>
          <div aria-hidden="true" className="mt-1 flex justify-between text-xs text-soft sm:pr-24 sm:pl-56">
            <span>{axisText(from)}</span>
            <span>{axisText(to)}</span>
          </div>
          {hidden > 0 && (
            <Button kind="quiet" onClick={() => showWhole(true)}>
              Show {hidden} more
            </Button>
          )}
        </div>
      )}
    </Panel>
  )
}

function Line({ span, from, to, isAfterGap }: { span: Span; from: number; to: number; isAfterGap: boolean }) {
  const share = (ms: number) => ((ms - from) / (to - from)) * 100
  const left = Math.min(99.4, share(span.from))
  const width = Math.max(0.6, share(span.to) - left)
  const state = span.kind === 'ATTEMPT' ? span.state! : undefined
  return (
    <li className={isAfterGap ? 'border-t border-dashed border-line pt-1' : ''}>
      <div className="grid grid-cols-[minmax(0,1fr)_6rem] items-center gap-x-2 sm:grid-cols-[13.500rem_minmax(0,1fr)_5.500rem]">
        <span className="flex items-center gap-1.5">
          {state !== undefined ? <StateIcon state={state} /> : <span className="size-3.5" />}
          <span className={state === undefined ? 'text-soft' : 'font-medium'}>{span.name}</span>
          {state !== undefined && state !== 'HANDED_BACK' && <span className="text-soft">{outcomeWord(state)}</span>}
        </span>
        <span className="text-right text-soft sm:order-last">
          {duration(span.to - span.from)}
          {span.isOpen && '…'}
        </span>
        <svg aria-hidden="true" className="col-span-full h-3.5 w-full rounded-sm bg-sunken sm:col-span-1">
          <rect x={`${left}%`} width={`${width}%`} {...shapeOf(span)} rx="2" className={colourOf(span)} />
        </svg>
      </div>
      {span.about !== undefined && <p className="pl-5 break-words text-soft">{span.about}</p>}
    </li>
  )
}

/** An attempt fills its line; what is no work is thin. */
function shapeOf({ kind }: Span): { y: string; height: string } {
  return kind === 'ATTEMPT' ? { y: '0', height: '100%' } : { y: '35%', height: '30%' }
}

function colourOf({ kind, state }: Span): string {
  if (kind === 'LATE') return 'fill-warn'
  if (kind === 'WAIT') return 'fill-wait'
  if (kind === 'ENDED') return 'fill-line'
  if (state === 'SUCCEEDED') return 'fill-good'
  if (state === 'RUNNING') return 'fill-busy'
  if (state === 'DEAD') return 'fill-bad'
  return state === 'CANCELLED' || state === 'HANDED_BACK' ? 'fill-soft' : 'fill-warn'
}

function outcomeWord(state: string): string {
  if (state === 'DEAD') return 'failed for good'
  return stateWord(state).replace(', will retry', '').toLowerCase()
}

function axisText(ms: number): string {
  return `${clockTime(new Date(ms), { date: false })}.${String(ms % 1_000).padStart(3, '0')}`
}
