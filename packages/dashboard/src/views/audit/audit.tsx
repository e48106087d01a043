import type { AuditEntry } from '@carillon/contract'
import { Loading, Nothing, Renewing, Trouble } from '../../components/answer.tsx'
import { Field, Select } from '../../components/field.tsx'
import { Heading, Panel } from '../../components/panel.tsx'
import { RangeChoice } from '../../components/range-choice.tsx'
import { type Column, More, Table } from '../../components/table.tsx'
import { TextFilter } from '../../components/text-filter.tsx'
import { Time } from '../../components/time.tsx'
import { useCaller } from '../../lib/caller.ts'
import { currentTime } from '../../lib/clock.ts'
import { type Filters, useFilters } from '../../lib/filters.ts'
import { type Pages, usePages } from '../../lib/pages.ts'
import { boundsOf } from '../../lib/ranges.ts'
import { Subject } from './subject.tsx'

const pageSize = 50
const askEveryMs = 10_000
const usualRange = 'all'

export default function Audit() {
  const [filters, change] = useFilters()
  const { action, subject, range, from, to, installation } = filters
  const pages = usePages('listAudit', {
    question: { action, subject, range, from, to, installation },
    queryOf: () => ({
      ...{ action, subject, limit: pageSize },
      ...boundsOf(filters, usualRange, currentTime()),
      ...(installation === 'true' && { installation: true }),
    }),
    everyMs: askEveryMs,
  })
  return (
    <>
      <Heading title="Audit" about="Who did what, newest first" />
      <Panel>
        <FilterBar filters={filters} change={change} actions={actionsOf(pages.items)} />
        <List pages={pages} />
      </Panel>
    </>
  )
}

function FilterBar({
  filters,
  change,
  actions,
}: {
  filters: Filters
  change: (changes: Filters) => void
  actions: string[]
}) {
  const isPlatform = useCaller().tenant === null
  return (
    <div className="grid grid-cols-[repeat(auto-fill,minmax(10rem,1fr))] items-start gap-3 border-b border-line px-4 pt-2 pb-3">
      <TextFilter
        label="Action"
        placeholder="job.updated"
        suggestions={actions}
        data-search
        value={filters.action}
        set={(action) => change({ action })}
      />
      <TextFilter
        label="Subject"
        placeholder="Id or name"
        value={filters.subject}
        set={(subject) => change({ subject })}
      />
      <RangeChoice filters={filters} usual={usualRange} change={change} />
      {isPlatform && (
        <Field label="About">
          {(ids) => (
            <Select
              {...ids}
              value={filters.installation ?? ''}
              onChange={({ target }) => change({ installation: target.value || undefined })}
            >
              <option value="">This tenant</option>
              <option value="true">The installation</option>
            </Select>
          )}
        </Field>
      )}
    </div>
  )
}

function List({ pages }: { pages: Pages<AuditEntry> }) {
  const { items, error, hasMore } = pages
  if (items === undefined) return error ? <Trouble error={error} again={pages.again} /> : <Loading />
  return (
    <div aria-busy={pages.isOld}>
      <Renewing isOld={pages.isOld} />
      {error && <Trouble error={error} again={pages.again} />}
      {items.length === 0 ? (
        <Nothing title={hasMore ? 'Nothing found yet' : 'No entries match'}>
          {!hasMore && 'Everything that changes jobs, executions, pools and tokens is recorded here.'}
        </Nothing>
      ) : (
        <Table
          rows={items}
          columns={columns}
          keyOf={({ auditId }) => String(auditId)}
          caption="Audit entries, newest first"
          flows
        />
      )}
      <More hasMore={hasMore} busy={pages.busy} onMore={pages.more} />
    </div>
  )
}

const columns: readonly Column<AuditEntry>[] = [
  { name: 'When', cell: ({ at }) => <Time at={at} exact /> },
  { name: 'Who', cell: ({ actor }) => <span className="break-all">{actor}</span> },
  { name: 'Action', cell: ({ action }) => <code className="font-mono text-[13px]">{action}</code> },
  { name: 'Subject', isWhole: true, cell: (entry) => <Subject entry={entry} /> },
  { name: 'Detail', isWhole: true, cell: ({ detail }) => <Detail detail={detail} /> },
]

/** In one line; opened, as it is. */
function Detail({ detail }: { detail: unknown }) {
  if (detail === null || detail === undefined) return <span className="text-soft">–</span>
  return (
    <details className="max-w-xl min-w-0">
      <summary>
        <span className="text-soft break-words">{lineOf(detail)}</span>
      </summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0} className="mt-1 max-h-96 overflow-auto rounded-md bg-sunken p-3 font-mono text-[13px]">
        {JSON.stringify(detail, null, 2)}
      </pre>
    </details>
  )
}

const lineChars = 60

function lineOf(detail: unknown): string {
  const text = textOf(detail)
  return text.length > lineChars ? `${text.slice(0, lineChars)}…` : text
}

function textOf(detail: unknown): string {
  if (typeof detail !== 'object' || detail === null || Array.isArray(detail)) return JSON.stringify(detail)
  return Object.entries(detail)
    .map(([name, value]) => `${name}: ${wordOf(value)}`)
    .join(', ')
}

function wordOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(wordOf).join(' ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Those that were seen, to choose from. */
function actionsOf(items: AuditEntry[] | undefined): string[] {
  return [...new Set(items?.map(({ action }) => action))].sort()
}
