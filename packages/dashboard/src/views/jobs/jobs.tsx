/** All jobs, newest first, by filters that live in the address. */
import type { Job } from '@carillon/contract'
import { useMemo } from 'react'
import { Loading, Nothing, Trouble } from '../../components/answer.tsx'
import { LinkButton } from '../../components/button.tsx'
import { Heading, Panel } from '../../components/panel.tsx'
import { useMay } from '../../lib/caller.ts'
import { type Filters, useFilters } from '../../lib/filters.ts'
import { usePages } from '../../lib/pages.ts'
import { JobFilters } from './job-filters.tsx'
import { JobRows } from './job-rows.tsx'
import { labelsOf } from './labels.tsx'

const pageSize = 100
const askEveryMs = 5_000

export default function Jobs() {
  const [filters, change] = useFilters()
  const mayWrite = useMay('jobs:write')
  const query = useMemo(() => queryOf(filters), [filters])
  const pages = usePages('listJobs', { question: query, queryOf: () => query, everyMs: askEveryMs })
  const { items, error } = pages
  const isFiltered = Object.keys(query).length > 1
  return (
    <>
      <Heading
        title="Jobs"
        about="Schedules and definitions"
        actions={
          mayWrite && (
            <LinkButton kind="main" to="/jobs/new">
              New job
            </LinkButton>
          )
        }
      />
      <JobFilters filters={filters} change={change} />
      <Panel>
        {items === undefined ? (
          error === null ? (
            <Loading />
          ) : (
            <Trouble error={error} again={pages.again} />
          )
        ) : items.length === 0 && !pages.hasMore ? (
          isFiltered ? (
            <Nothing title="No job matches">Change the filters above, or clear them.</Nothing>
          ) : (
            <FirstJob />
          )
        ) : (
          <JobRows pages={{ ...pages, items }} onLabel={(label) => change({ label })} />
        )}
      </Panel>
    </>
  )
}

function queryOf({ search, state, type, pool, handler, label, managedBy }: Filters) {
  const given = { search, state: state as Job['state'], type: type as Job['type'], pool, handler, managedBy }
  return {
    limit: pageSize,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    ...(label !== undefined && { label: labelsOf(label) }),
  }
}

function FirstJob() {
  const mayWrite = useMay('jobs:write')
  return (
    <Nothing title="There is no job yet">
      <p>A job says what runs and when. Its executions appear here and under Executions.</p>
      {mayWrite && (
        <div className="mt-4 space-y-3">
          <LinkButton kind="main" to="/jobs/new">
            Create the first job
          </LinkButton>
          <p>or from a terminal:</p>
          <pre className="mx-auto w-fit max-w-full rounded-md bg-sunken px-3 py-2 text-left font-mono text-[13px] whitespace-pre-wrap text-ink">
            carillon jobs create --key nightly --handler report --cron '0 3 * * *' --timezone Europe/Berlin
          </pre>
        </div>
      )}
    </Nothing>
  )
}
