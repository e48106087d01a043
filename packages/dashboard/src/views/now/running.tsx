import { Link } from '@tanstack/react-router'
import { Answer, Nothing } from '../../components/answer.tsx'
import { Panel } from '../../components/panel.tsx'
import { Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { useAsk } from '../../lib/queries.ts'

/** Whenever it was due: without `from` the list is of the last 24 hours. */
const query = { state: 'RUNNING', limit: 8, from: '1970-01-01T00:00:00Z' } as const

/** Some of what runs at this moment. */
export function Running() {
  const running = useAsk('listExecutions', { query }, { everyMs: 5_000 })
  return (
    <Panel
      title="Running"
      side={
        <Link to="/executions" search={{ state: 'RUNNING' }} className="underline">
          all
        </Link>
      }
    >
      <Answer of={running}>
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <Nothing title={nextCursor === null ? 'Nothing is running' : 'None of the newest is running'} />
          ) : (
            <Table
              caption="Executions that run"
              rows={items}
              keyOf={({ executionId }) => executionId}
              columns={[
                {
                  name: 'Execution',
                  cell: ({ executionId, name, handler }) => (
                    <Link to="/executions/$executionId" params={{ executionId }} className="underline">
                      {name ?? handler}
                    </Link>
                  ),
                },
                { name: 'Pool', cell: ({ pool }) => pool, isWide: true },
                { name: 'Attempt', cell: ({ attempt, maxAttempts }) => `${attempt} of ${maxAttempts}`, isWide: true },
                { name: 'Started', cell: ({ startedAt }) => <Time at={startedAt} />, isNumber: true },
              ]}
            />
          )
        }
      </Answer>
    </Panel>
  )
}
