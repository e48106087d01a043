import type { Load } from '@carillon/contract/api'
import { Nothing } from '../../components/answer.tsx'
import { StateIcon } from '../../components/state-mark.tsx'
import { duration, shortCount } from '../../lib/time.ts'

/** How full each pool is, and what waits in each of its lanes. */
export function Depths({ load: { pools } }: { load: Load }) {
  if (pools.length === 0) return <Nothing title="No pools yet">A pool appears when a worker serves it.</Nothing>
  const busiest = [...pools].sort((a, b) => b.ready + b.running - a.ready - a.running)
  return (
    <ul className="divide-y divide-line">
      {busiest.map(({ name, paused, ready, running, slots, lanes, oldestReadyMs }) => (
        <li key={name} className="px-4 py-2">
          <div className="flex justify-between gap-3">
            <span className="min-w-0 truncate font-medium">
              {paused && <StateIcon state="PAUSED" />} {name}
              {paused && <span className="sr-only"> (paused)</span>}
            </span>
            <span className="text-soft">
              {shortCount(running)} / {shortCount(slots)} busy
            </span>
          </div>
          <Bar share={slots === 0 ? 0 : running / slots} />
          {ready > 0 && (
            <p className="text-soft">
              {lanes
                .filter((lane) => lane.ready > 0)
                .map((lane) => `${shortCount(lane.ready)} ${lane.priority.toLowerCase()}`)
                .join(', ')}{' '}
              ready, oldest {duration(oldestReadyMs)}
            </p>
          )}
        </li>
      ))}
    </ul>
  )
}

function Bar({ share }: { share: number }) {
  const width = `${Math.min(100, Math.round(share * 100))}%`
  return (
    <div className="my-1 h-1.5 overflow-hidden rounded bg-sunken" aria-hidden="true">
      <div className={`h-full ${share >= 1 ? 'bg-warn' : 'bg-busy'}`} style={{ width }} />
    </div>
  )
}
