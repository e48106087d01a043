import { api } from '@carillon/contract/api'
import { cursorOf, idOfCursor } from '../../../executions/cursor.ts'
import { jobJsonOf } from '../../../jobs/view.ts'
import { readLatest } from '../../../store/jobs/latest.ts'
import { aboveAllIds, listJobs as read } from '../../../store/jobs/list.ts'
import { labelOf } from '../../label-filter.ts'
import { route } from '../../route.ts'
import { timeRangeOf } from '../../time-range.ts'

export const listJobs = route(api.listJobs, async ({ query, caller }, { database }) => {
  const { limit = 100, cursor, label = [], state, type, search, key, name, handler, pool, managedBy } = query
  const before = cursor === undefined ? aboveAllIds : idOfCursor(cursor)
  const { jobs, next } = await read(
    database,
    { tenant: caller.tenant, before, limit },
    {
      state: state ?? null,
      type: type ?? null,
      search: search ?? null,
      key: key ?? null,
      name: name ?? null,
      handler: handler ?? null,
      pool: pool ?? null,
      managedBy: managedBy ?? null,
      labels: label.map(labelOf),
      ...timeRangeOf(query),
    },
  )
  const latest = await readLatest(
    database,
    jobs.map((job) => job.definition.jobId),
  )
  const items = jobs.map((job) => jobJsonOf(job, latest.get(job.definition.jobId) ?? null)).join(',')
  const nextCursor = next === null ? null : cursorOf(next)
  return { status: 200, text: `{"items":[${items}],"nextCursor":${JSON.stringify(nextCursor)}}` }
})
