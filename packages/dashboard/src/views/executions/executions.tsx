import type { Execution, ExecutionFilter } from '@carillon/contract'
import { useState } from 'react'
import { Loading, Nothing, Renewing, Trouble } from '../../components/answer.tsx'
import { type BulkAction, BulkConfirm } from '../../components/bulk-confirm.tsx'
import { Button } from '../../components/button.tsx'
import { executionColumns } from '../../components/execution-columns.tsx'
import { OperationProgress } from '../../components/operation-progress.tsx'
import { Heading, Panel } from '../../components/panel.tsx'
import { More, Table } from '../../components/table.tsx'
import { useMay } from '../../lib/caller.ts'
import { currentTime } from '../../lib/clock.ts'
import { type Filters, useFilters } from '../../lib/filters.ts'
import { type Pages, usePages } from '../../lib/pages.ts'
import { bulkFilterOf, isEnd, isRetryable, queryOf, questionOf } from './filter.ts'
import { FilterBar } from './filter-bar.tsx'

const pageSize = 50
const askEveryMs = 5_000

export default function Executions() {
  const [filters, change] = useFilters()
  const pages = usePages('listExecutions', {
    question: questionOf(filters),
    queryOf: () => ({ ...queryOf(filters, currentTime()), limit: pageSize }),
    everyMs: askEveryMs,
  })
  return (
    <>
      <Heading
        title="Executions"
        about="Every run, newest first"
        actions={<Bulk filters={filters} started={(operation) => change({ operation })} />}
      />
      {filters.operation !== undefined && (
        <OperationProgress
          key={filters.operation}
          operationId={filters.operation}
          touches={['listExecutions']}
          onClose={() => change({ operation: undefined })}
        />
      )}
      <Panel>
        <FilterBar filters={filters} change={change} />
        <List pages={pages} />
      </Panel>
    </>
  )
}

function List({ pages }: { pages: Pages<Execution> }) {
  const { items, error, hasMore, isLive } = pages
  if (items === undefined) return error ? <Trouble error={error} again={pages.again} /> : <Loading />
  return (
    <div aria-busy={pages.isOld}>
      <Renewing isOld={pages.isOld} />
      {error && <Trouble error={error} again={pages.again} />}
      {items.length === 0 ? (
        <Nothing title={hasMore ? 'Nothing found yet' : 'No executions match'}>
          {hasMore ? 'There is more history to look through.' : 'Choose another state, or a longer time.'}
        </Nothing>
      ) : (
        <Table
          rows={items}
          columns={executionColumns}
          keyOf={({ executionId }) => executionId}
          caption="Executions, newest first"
          flows
        />
      )}
      <More hasMore={hasMore} busy={pages.busy} onMore={pages.more} />
      <p className="flex items-center justify-between gap-2 border-t border-line px-4 py-2 text-soft">
        {isLive ? 'Updates live.' : 'Paused while you read further pages.'}
        {!isLive && (
          <Button
            kind="quiet"
            onClick={() => {
              window.scrollTo({ top: 0 })
              pages.again()
            }}
          >
            Refresh
          </Button>
        )}
      </p>
    </div>
  )
}

interface Asked {
  action: BulkAction
  filter: ExecutionFilter
}

/** Actions on everything that the filters select. */
function Bulk({ filters, started }: { filters: Filters; started: (operationId: string) => void }) {
  const mayWrite = useMay('jobs:write')
  const [asked, ask] = useState<Asked | null>(null)
  if (!mayWrite) return null
  const { state } = filters
  const open = (action: BulkAction) => ask({ action, filter: bulkFilterOf(filters, currentTime()) })
  return (
    <>
      {(state === undefined || isRetryable(state)) && (
        <Button onClick={() => open('retryExecutions')}>Retry matching…</Button>
      )}
      {(state === undefined || !isEnd(state)) && (
        <Button kind="danger" onClick={() => open('cancelExecutions')}>
          Cancel matching…
        </Button>
      )}
      {asked && (
        <BulkConfirm
          {...asked}
          about={abouts[asked.action as keyof typeof abouts]}
          onStarted={({ operationId }) => {
            ask(null)
            started(operationId)
          }}
          onClose={() => ask(null)}
        />
      )}
    </>
  )
}

const abouts = {
  retryExecutions: 'Dead and cancelled executions that the filters select run again, with all their attempts.',
  cancelExecutions:
    'Executions that the filters select and that have not ended: those that wait never start, those that run are aborted.',
}
