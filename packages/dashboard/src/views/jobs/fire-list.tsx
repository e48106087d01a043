/** Times to come: on the clock of the job's zone and of the viewer's, and what a change of the clock does to them. */
import { type FireRow, type Fires, fireRows } from '@carillon/contract'
import { Time } from '../../components/time.tsx'
import { clockTime, viewerZone } from '../../lib/time.ts'

/** How many fires to ask for: a daily job then reaches the next change of the clock, which is at most 240 days away. */
export const lookedAhead = 250

const marksBeyond = 2
const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

export function FireList({ of, most = 8 }: { of: Fires; most?: number }) {
  const rows = fireRows(of)
  const isElsewhere = of.timezone !== viewerZone
  // A change of the clock is what people look ahead for: the next ones are shown even if they are far away.
  const beyond = rows
    .slice(most)
    .filter(({ remark }) => remark !== '')
    .slice(0, marksBeyond)
  if (rows.length === 0) return <p className="px-4 py-3 text-soft">No further fires.</p>
  return (
    <>
      <p className="px-4 pt-3 text-soft">
        Times in {of.timezone}
        {isElsewhere && `, and yours, ${viewerZone}`}
      </p>
      <ol className="px-4 py-2">
        {rows.slice(0, most).map((row) => (
          <Fire key={`${row.at}${row.local}`} of={row} isElsewhere={isElsewhere} />
        ))}
        {beyond.length > 0 && <li className="py-0.5 text-soft">…</li>}
        {beyond.map((row) => (
          <Fire key={`${row.at}${row.local}`} of={row} isElsewhere={isElsewhere} />
        ))}
      </ol>
    </>
  )
}

function Fire({ of: { local, scheduledFor, remark }, isElsewhere }: { of: FireRow; isElsewhere: boolean }) {
  const [, date, time, offset = ''] = /^(\S{10})T([\d:]+)(?:\.\d+)?(.*)$/.exec(local) ?? ['', local, '']
  return (
    <li className="flex flex-wrap gap-x-3 py-0.5">
      <span className={`whitespace-nowrap ${scheduledFor === null ? 'text-soft line-through' : ''}`}>
        <span className="inline-block w-10 text-soft">{dayOf(date!)}</span>
        {date} {time} <span className="text-soft">{offset}</span>
      </span>
      {scheduledFor !== null && (
        <span className="whitespace-nowrap text-soft">
          <Time at={scheduledFor} />
          {isElsewhere && ` · ${clockTime(new Date(scheduledFor))}`}
        </span>
      )}
      {remark !== '' && (
        <span className="basis-full pl-10 text-warn">
          <span aria-hidden="true">◆ </span>
          {remark.charAt(0).toUpperCase() + remark.slice(1)}
        </span>
      )}
    </li>
  )
}

function dayOf(date: string): string {
  return days[new Date(`${date}T00:00:00Z`).getUTCDay()] ?? ''
}
