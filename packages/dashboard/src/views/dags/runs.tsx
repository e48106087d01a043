import type { DagRunSummary } from '@carillon/contract'
import { Loading, Nothing, Renewing, Trouble } from '../../components/answer.tsx'
import { More, Table } from '../../components/table.tsx'
import type { Pages } from '../../lib/pages.ts'
import { runColumns } from './run-columns.tsx'

/** Runs, newest first. */
export function Runs({
  pages,
  isFiltered,
  onLabel,
}: {
  pages: Pages<DagRunSummary>
  isFiltered: boolean
  onLabel?: (label: string) => void
}) {
  const { items, error, hasMore } = pages
  if (items === undefined) return error ? <Trouble error={error} again={pages.again} /> : <Loading />
  return (
    <div aria-busy={pages.isOld}>
      <Renewing isOld={pages.isOld} />
      {error && <Trouble error={error} again={pages.again} />}
      {items.length === 0 ? (
        <Nothing title={hasMore ? 'Nothing found yet' : isFiltered ? 'No run matches' : 'No runs yet'}>
          {hasMore
            ? 'There is more history to look through.'
            : isFiltered
              ? 'Change the filters, or clear them.'
              : 'The first appears here when it is started.'}
        </Nothing>
      ) : (
        <Table
          rows={items}
          columns={runColumns(onLabel)}
          keyOf={({ runId }) => runId}
          caption="Runs, newest first"
          flows
        />
      )}
      <More hasMore={hasMore} busy={pages.busy} onMore={pages.more} />
    </div>
  )
}
