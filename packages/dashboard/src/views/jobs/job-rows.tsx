/**
 * Rows of which only those in sight are in the page, so that 100,000 scroll as ten do. The next page is asked for as its place
 * comes near.
 */
import type { Job } from '@carillon/contract'
import { Link } from '@tanstack/react-router'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { Trouble } from '../../components/answer.tsx'
import { StateIcon, StateMark, stateWord } from '../../components/state-mark.tsx'
import { Time } from '../../components/time.tsx'
import type { Pages } from '../../lib/pages.ts'
import { count } from '../../lib/time.ts'
import { Labels } from './labels.tsx'
import { targetText } from './target.ts'
import { NextFire, Timing } from './timing.tsx'

const rowPx = 53
const askAheadRows = 30

interface Cell {
  name: string
  width: string
  of: (job: Job, onLabel: (label: string) => void) => ReactNode
}

const cells: readonly Cell[] = [
  { name: 'Job', width: 'w-[23%]', of: (job, onLabel) => <Name of={job} onLabel={onLabel} /> },
  { name: 'State', width: 'w-[8%]', of: ({ state }) => <StateMark state={state} /> },
  { name: 'Schedule', width: 'w-[25%]', of: (job) => <Timing of={job} stacked /> },
  { name: 'Next fire', width: 'w-[20%]', of: (job) => <NextFire of={job} stacked /> },
  { name: 'Last run', width: 'w-[9%]', of: (job) => <LastRun of={job} /> },
  { name: 'Runs', width: 'w-[15%]', of: (job) => <Target of={job} /> },
]

export function JobRows({
  pages: { items, hasMore, busy, more, isOld, error, again },
  onLabel,
}: {
  pages: Pages<Job> & { items: Job[] }
  onLabel: (label: string) => void
}) {
  const place = useRef<HTMLTableElement>(null)
  const [top, setTop] = useState(0)
  const rows = useWindowVirtualizer({
    count: items.length,
    estimateSize: () => rowPx,
    overscan: 8,
    scrollMargin: top,
    getItemKey: (at) => items[at]!.jobId,
  })
  const shown = rows.getVirtualItems()
  const isNearEnd = (shown.at(-1)?.index ?? 0) > items.length - askAheadRows
  const wantsMore = hasMore && !busy && !isOld && error === null && isNearEnd
  useLayoutEffect(() => setTop(place.current!.getBoundingClientRect().top + window.scrollY), [])
  useEffect(() => {
    if (wantsMore) more()
  }, [wantsMore, items.length])
  return (
    <>
      <table
        ref={place}
        aria-rowcount={hasMore ? -1 : items.length + 1}
        aria-busy={isOld}
        className="w-full table-fixed border-collapse max-sm:block"
      >
        <caption className="sr-only">Jobs</caption>
        <thead className="max-sm:sr-only">
          <tr className="border-b border-line text-left text-soft">
            {cells.map(({ name, width }) => (
              <th key={name} scope="col" className={`px-2 py-2 font-medium first:pl-4 last:pr-4 ${width}`}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="max-sm:block">
          <Space px={(shown[0]?.start ?? top) - top} />
          {shown.map(({ index, key }) => (
            <tr
              key={key}
              ref={rows.measureElement}
              data-index={index}
              aria-rowindex={index + 2}
              className="border-b border-line hover:bg-sunken max-sm:block max-sm:px-4 max-sm:py-2"
            >
              {cells.map(({ name, of }) => (
                <td
                  key={name}
                  className={`min-w-0 px-2 py-1.5 align-top first:pl-4 last:pr-4 max-sm:px-0 max-sm:py-0.5 max-sm:first:pl-0 ${isNamed(name) ? named : 'max-sm:block'}`}
                >
                  {isNamed(name) && <span className="text-soft sm:hidden">{name}</span>}
                  <div className="min-w-0">{of(items[index]!, onLabel)}</div>
                </td>
              ))}
            </tr>
          ))}
          <Space px={rows.getTotalSize() - ((shown.at(-1)?.end ?? top) - top)} />
        </tbody>
      </table>
      <p className="px-4 py-2 text-soft" role="status">
        {busy ? `Searching… ${count(items.length)} so far` : foundText(items.length, hasMore)}
      </p>
      {error !== null && <Trouble error={error} again={again} />}
    </>
  )
}

/** On a phone: a name and its value, below one another with those of the other cells. */
const named = 'max-sm:grid max-sm:grid-cols-[5rem_minmax(0,1fr)] max-sm:items-baseline'

function isNamed(name: string): boolean {
  return name !== 'Job' && name !== 'State'
}

/** In place of rows that are out of sight. */
function Space({ px }: { px: number }) {
  if (px <= 0) return null
  return (
    <tr className="max-sm:block" style={{ height: px }}>
      <td className="max-sm:block" />
    </tr>
  )
}

function foundText(found: number, hasMore: boolean): string {
  if (hasMore) return `${count(found)} so far; more follow as you scroll`
  return found === 1 ? '1 job' : `${count(found)} jobs`
}

function Name({ of: { jobId, name, key, labels }, onLabel }: { of: Job; onLabel: (label: string) => void }) {
  return (
    <div className="min-w-0">
      <Link to="/jobs/$jobId" params={{ jobId }} className="font-medium break-words text-accent hover:underline">
        {name}
      </Link>
      <div className="flex flex-wrap items-baseline gap-x-2 gap-y-0.5 text-[12px]">
        {key !== null && key !== name && <span className="min-w-0 font-mono break-words text-soft">{key}</span>}
        {Object.keys(labels).length > 0 && <Labels of={labels} onLabel={onLabel} />}
      </div>
    </div>
  )
}

function LastRun({ of: { lastState, lastRunAt, lastExecutionId } }: { of: Job }) {
  if (lastState === null || lastExecutionId === null) return <span className="text-soft">never</span>
  return (
    <Link
      to="/executions/$executionId"
      params={{ executionId: lastExecutionId }}
      className="inline-flex items-center gap-1.5 hover:underline"
      title={stateWord(lastState)}
    >
      <StateIcon state={lastState} />
      <span className="sr-only">{stateWord(lastState)} </span>
      {lastRunAt === null ? stateWord(lastState) : <Time at={lastRunAt} />}
    </Link>
  )
}

function Target({ of }: { of: Job }) {
  return (
    <span className="break-words">
      <span className="font-mono text-[13px]">{targetText(of)}</span>
      {of.target.pool !== undefined && <span className="text-soft max-sm:ml-1.5 sm:block">{of.target.pool}</span>}
    </span>
  )
}
