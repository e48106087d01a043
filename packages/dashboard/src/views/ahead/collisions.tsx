import type { Forecast } from '@carillon/contract/api'
import { Link } from '@tanstack/react-router'
import { Nothing } from '../../components/answer.tsx'
import { Panel } from '../../components/panel.tsx'
import { Time } from '../../components/time.tsx'
import { count } from '../../lib/time.ts'

const mostShown = 12

/** Seconds in which many jobs fire together: jitter, or another minute, spreads them. */
export function Collisions({ forecast: { collisions } }: { forecast: Forecast }) {
  const worst = [...collisions].sort((a, b) => b.fires - a.fires).slice(0, mostShown)
  return (
    <Panel title="Collisions" side="the busiest seconds">
      {worst.length === 0 ? (
        <Nothing title="No two jobs fire in the same second" />
      ) : (
        <ul className="divide-y divide-line">
          {worst.map(({ at, fires, jobs }) => (
            <li key={at} className="flex gap-4 px-4 py-2">
              <span className="w-10 shrink-0 text-right font-semibold">{count(fires)}</span>
              <span className="min-w-0">
                <Time at={at} exact />{' '}
                <span className="text-soft">
                  (<Time at={at} />)
                </span>
                <span className="block break-words text-soft">
                  {jobs.map(({ jobId, name }, i) => (
                    <span key={jobId}>
                      {i > 0 && ', '}
                      <Link to="/jobs/$jobId" params={{ jobId }} className="underline">
                        {name ?? jobId}
                      </Link>
                    </span>
                  ))}
                  {fires > jobs.length && `, and ${count(fires - jobs.length)} more`}
                </span>
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
