import type { Execution } from '@carillon/contract'
import { Link } from '@tanstack/react-router'
import { duration } from '../lib/time.ts'
import { StateMark } from './state-mark.tsx'
import type { Column } from './table.tsx'
import { Time, useNow } from './time.tsx'

/** Later than this, and it is marked. */
const lateMs = 1_000

export const executionColumns: readonly Column<Execution>[] = [
  { name: 'State', cell: ({ state }) => <StateMark state={state} /> },
  { name: 'Execution', cell: (execution) => <Name of={execution} /> },
  { name: 'Scheduled', cell: ({ scheduledFor }) => <Time at={scheduledFor} /> },
  { name: 'Late', isNumber: true, isWide: true, cell: ({ latenessMs }) => <Late ms={latenessMs} /> },
  { name: 'Took', isNumber: true, cell: (execution) => <Took of={execution} /> },
  {
    name: 'Attempt',
    isNumber: true,
    isWide: true,
    cell: ({ attempt, maxAttempts }) => (
      <span className={attempt > 1 ? 'text-warn' : 'text-soft'}>
        {attempt}/{maxAttempts}
      </span>
    ),
  },
  { name: 'Outcome', cell: (execution) => <Outcome of={execution} /> },
]

function Name({ of: { executionId, name, handler, pool } }: { of: Execution }) {
  return (
    <span className="break-words">
      <Link to="/executions/$executionId" params={{ executionId }} className="font-medium text-accent hover:underline">
        {name ?? handler}
      </Link>{' '}
      <span className="text-soft max-sm:hidden">
        {[name !== null && name !== handler && handler, pool].filter(Boolean).join(' · ')}
      </span>
    </span>
  )
}

export function Late({ ms }: { ms: number | null }) {
  if (ms === null) return <span className="text-soft">–</span>
  return <span className={ms > lateMs ? 'text-warn' : 'text-soft'}>{duration(Math.max(0, ms))}</span>
}

export function Took({ of: { state, startedAt, durationMs } }: { of: Execution }) {
  return <>{state === 'RUNNING' && startedAt !== null ? <Since at={startedAt} /> : duration(durationMs)}</>
}

/** Counts on while it runs. */
function Since({ at }: { at: string }) {
  const now = useNow()
  return <span className="text-busy">{duration(Math.max(0, now.getTime() - new Date(at).getTime()))}</span>
}

function Outcome({ of: { error, reason, skippedCount, state } }: { of: Execution }) {
  if (error !== null && state !== 'SUCCEEDED') {
    return (
      <span className="line-clamp-1 break-all" title={`${error.name}: ${error.message}`}>
        <span className="font-medium">{error.name}</span> <span className="text-soft">{error.message}</span>
      </span>
    )
  }
  if (reason === null) return <span className="text-soft max-sm:hidden">–</span>
  return (
    <span className="text-soft">
      {reasonText(reason)}
      {skippedCount !== null && skippedCount > 1 && `, ${skippedCount} times`}
    </span>
  )
}

/** `ATTEMPTS_USED_UP` is a stable word for programs; people read `Attempts used up`. */
export function reasonText(reason: string): string {
  const text = reason.replaceAll('_', ' ').toLowerCase()
  return text.charAt(0).toUpperCase() + text.slice(1)
}
