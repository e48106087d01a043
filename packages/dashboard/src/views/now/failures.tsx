import { Link } from '@tanstack/react-router'
import { Answer, Nothing } from '../../components/answer.tsx'
import { Panel } from '../../components/panel.tsx'
import { useNow } from '../../components/time.tsx'
import type { AnswerTo } from '../../lib/api.ts'
import { useAsk } from '../../lib/queries.ts'
import { count } from '../../lib/time.ts'

const hour = 3_600_000
const mostShown = 6

type Failing = AnswerTo<'listFailures'>['items'][number]

/** Each run of a graph has steps of its own, and a step may have items, such as `load.7`: those of one name are one line. */
function grouped(items: readonly Failing[]): Failing[] {
  const found = new Map<string, Failing>()
  for (const item of items) {
    const name = item.name?.replace(/\.\d+$/, '') ?? null
    const key = `${name} ${item.handler}`
    const known = found.get(key)
    const sum = known && { ...known, name, dead: known.dead + item.dead, failed: known.failed + item.failed }
    found.set(key, sum ?? item)
  }
  return [...found.values()].sort((a, b) => b.dead - a.dead || b.failed - a.failed).slice(0, mostShown)
}

/** What failed in the last week, by job: the worst first. */
export function Failures() {
  const from = Math.floor(useNow().getTime() / hour) * hour - 7 * 24 * hour
  const failures = useAsk('listFailures', { query: { from: new Date(from).toISOString() } }, { everyMs: 30_000 })
  return (
    <Panel title="Failed this week" side="by job">
      <Answer of={failures}>
        {({ items }) =>
          items.length === 0 ? (
            <Nothing title="Nothing failed" />
          ) : (
            <ul className="divide-y divide-line">
              {grouped(items).map(({ name, handler, dead, failed, lastError, newest }) => (
                <li key={newest}>
                  <Link
                    to="/executions/$executionId"
                    params={{ executionId: newest }}
                    className="block px-4 py-2 hover:bg-sunken"
                  >
                    <span className="flex justify-between gap-3">
                      <span className="min-w-0 truncate font-medium">{name ?? handler}</span>
                      <span className={dead > 0 ? 'text-bad' : 'text-warn'}>
                        {dead > 0 ? `${count(dead)} dead` : `${count(failed)} failed`}
                      </span>
                    </span>
                    {lastError && <span className="line-clamp-1 break-all text-soft">{lastError.message}</span>}
                  </Link>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Panel>
  )
}
