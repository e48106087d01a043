import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { jobNotFound } from '../../../jobs/reference.ts'
import { versionJsonOf } from '../../../jobs/view.ts'
import { readLedgerJob } from '../../../store/jobs/ledger.ts'
import { listVersions, type VersionRecord } from '../../../store/jobs/list-versions.ts'
import { readKeptJob } from '../../../store/jobs/read.ts'
import type { JobRecord } from '../../../store/rows.ts'
import { jobRoute } from './job-route.ts'

const aboveAllVersions = 2 ** 31 - 1

/** Also of one that is DELETED, and of one that is only in the ledger, as GET /v1/jobs/:jobId. */
export const listJobVersions = jobRoute(api.listJobVersions, async ({ query, caller }, { database }, jobId) => {
  const { tenant } = caller
  const { limit = 100, cursor } = query
  const before = cursor === undefined ? aboveAllVersions : versionOf(cursor)
  const { versions, next } = await listVersions(database, { tenant, jobId, before, limit })
  if (versions.length === 0 && !(await readKeptJob(database, tenant, jobId))) {
    const job = await readLedgerJob(database, tenant, jobId)
    if (!job) throw jobNotFound(jobId)
    if (cursor === undefined) versions.push(onlyVersionOf(job))
  }
  const nextCursor = next === null ? null : Buffer.from(String(next)).toString('base64url')
  const items = versions.map(versionJsonOf).join(',')
  return { status: 200, text: `{"items":[${items}],"nextCursor":${JSON.stringify(nextCursor)}}` }
})

function onlyVersionOf({ definition, version, createdAt }: JobRecord): VersionRecord {
  return { definition, version, since: createdAt, until: null, changedBy: null }
}

function versionOf(cursor: string): number {
  const text = Buffer.from(cursor, 'base64url').toString()
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new CarillonError('VALIDATION', {
    pointer: '/cursor',
    message: 'is not a cursor of this list',
    hint: 'Give `nextCursor` of the page before, as it is, or leave it out to start over',
  })
}
