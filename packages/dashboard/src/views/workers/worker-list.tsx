import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Answer, Nothing } from '../../components/answer.tsx'
import { Panel } from '../../components/panel.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import { More, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { useAsk } from '../../lib/queries.ts'
import { count } from '../../lib/time.ts'

const step = 50

export function WorkerList() {
  const [limit, setLimit] = useState(step)
  const workers = useAsk('listWorkers', { query: { limit } }, { everyMs: 5_000 })
  return (
    <Panel title="Workers">
      <Answer of={workers}>
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <Nothing title="No worker is registered">
              Start one: <code className="font-mono">carillon worker --handlers ./handlers.ts</code>
            </Nothing>
          ) : (
            <>
              <Table
                caption="Workers"
                rows={items}
                keyOf={({ workerId }) => workerId}
                columns={[
                  {
                    name: 'Worker',
                    cell: ({ workerId, name }) => (
                      <Link
                        to="/workers/$workerId"
                        params={{ workerId }}
                        className="font-medium break-words text-accent hover:underline"
                      >
                        {name}
                      </Link>
                    ),
                  },
                  { name: 'State', cell: ({ state }) => <StateMark state={state} /> },
                  {
                    name: 'Pools',
                    cell: ({ pools }) => pools.map(({ pool, slots }) => `${pool} (${slots})`).join(', '),
                  },
                  {
                    name: 'Handlers',
                    isWide: true,
                    cell: ({ pools }) => (
                      <span className="line-clamp-2 break-words">
                        {[...new Set(pools.flatMap(({ handlers }) => handlers))].join(', ')}
                      </span>
                    ),
                  },
                  { name: 'Running', cell: ({ running }) => count(running), isNumber: true },
                  { name: 'Seen', cell: ({ seenAt }) => <Time at={seenAt} />, isNumber: true },
                ]}
              />
              <More
                hasMore={nextCursor !== null && limit < 500}
                busy={workers.isFetching}
                onMore={() => setLimit(limit + step)}
              />
            </>
          )
        }
      </Answer>
    </Panel>
  )
}
