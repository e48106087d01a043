/** From a filter, as the API takes it, to a range of ids and what is compared in it. */
import {
  CarillonError,
  type ExecutionState,
  type Timed,
  type ExecutionFilter as WireExecutionFilter,
} from '@carillon/contract'
import { firstIdAt } from '../domain/identity.ts'
import { earliestInstant, latestInstant } from '../domain/schedule/time-range.ts'
import { filteredJobId } from '../jobs/reference.ts'
import type { Database } from '../store/database.ts'
import { firstId, lastId, type Selection } from '../store/executions/select.ts'
import { readJobByKey } from '../store/jobs/read.ts'

/** As the API takes it; programs may give instants in other forms. */
export type ExecutionFilter = Timed<WireExecutionFilter, 'from' | 'to', string | number | Date>

/** `states` stand in for a filter without `state`; `pointer` says where in the request the filter is. */
export async function selectionOf(
  database: Database,
  tenant: string,
  filter: ExecutionFilter,
  { states = null, pointer = '' }: { states?: readonly ExecutionState[] | null; pointer?: string } = {},
): Promise<Selection> {
  const from = instantOf(filter.from, `${pointer}/from`)
  const to = instantOf(filter.to, `${pointer}/to`)
  if (from !== null && to !== null && from >= to) {
    throw new CarillonError('VALIDATION', { pointer: `${pointer}/to`, message: '`to` must be after `from`' })
  }
  return {
    tenant,
    states: filter.state === undefined ? states && [...states] : [filter.state],
    jobId: await jobIdOf(database, tenant, filter),
    handler: filter.handler ?? null,
    pool: filter.pool ?? null,
    origin: filter.origin ?? null,
    error: filter.error ?? null,
    reason: filter.reason ?? null,
    labels: filter.labels ?? null,
    // No id is the first of an instant, so that one may stand for "from here on".
    after: from === null ? firstId : firstIdAt(from),
    before: to === null ? lastId : firstIdAt(to),
  }
}

async function jobIdOf(database: Database, tenant: string, filter: ExecutionFilter): Promise<string | null> {
  const given = filter.jobId
  const jobId = given === undefined ? null : ((await filteredJobId(database, { tenant, job: given })) ?? firstId)
  if (filter.key === undefined) return jobId
  const named = (await readJobByKey(database, tenant, filter.key))?.definition.jobId ?? firstId
  return jobId === null || jobId === named ? named : firstId
}

function instantOf(value: ExecutionFilter['from'], pointer: string): number | null {
  if (value === undefined) return null
  const instant = new Date(value).getTime()
  if (Number.isNaN(instant)) throw new CarillonError('VALIDATION', { pointer, message: 'is not an instant' })
  return Math.min(Math.max(instant, earliestInstant), latestInstant)
}
