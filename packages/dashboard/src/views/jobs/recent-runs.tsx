import { Answer, Nothing } from '../../components/answer.tsx'
import { LinkButton } from '../../components/button.tsx'
import { executionColumns } from '../../components/execution-columns.tsx'
import { Panel } from '../../components/panel.tsx'
import { Table } from '../../components/table.tsx'
import { useRuns } from './use-runs.ts'

const shown = 8

export function RecentRuns({ jobId }: { jobId: string }) {
  const runs = useRuns(jobId)
  return (
    <Panel
      title="Recent executions"
      side={
        <LinkButton kind="quiet" to="/executions" search={{ jobId }}>
          Show all
        </LinkButton>
      }
    >
      <Answer of={runs}>
        {({ items }) =>
          items.length === 0 ? (
            <Nothing title="No executions yet" />
          ) : (
            <Table
              caption="Recent executions"
              rows={items.slice(0, shown)}
              columns={executionColumns}
              keyOf={({ executionId }) => executionId}
            />
          )
        }
      </Answer>
    </Panel>
  )
}
