/** Jobs with what they were over time, in pages by id, for the comparison with the ledger. See functions/verification/verify.sql. */
import type { JobState } from '@carillon/contract'
import type { Database } from '../database.ts'
import { type FireDefinition, type FireRow, fireDefinitionOf } from '../jobs/definition.ts'

/** What a job was until it was changed. Times in milliseconds. See migrations/0004_verification.sql. */
export interface KnownSpan {
  version: number
  state: JobState
  since: number
  until: number
  computedAt: number
  stood: number | null
  stands: number | null
}

export interface VerifiedJob {
  jobId: string
  tenant: string
  version: number
  state: JobState
  createdAt: number
  updatedAt: number
  /** The position of its schedule. */
  nominal: number | null
  /** By version: the present one, and those of the spans. */
  definitions: Map<number, FireDefinition>
  /** Oldest first: those that ended in the range or later, and the one before. */
  spans: KnownSpan[]
}

/** A job that is to fire and has no place in the schedules. */
export type StrandedJob = Pick<VerifiedJob, 'jobId' | 'tenant' | 'createdAt'>

export interface JobsPage {
  jobs: VerifiedJob[]
  stranded: StrandedJob[]
  /** The last job that was walked over. Null: there are no more. */
  last: string | null
}

export interface JobsScope {
  /** Null: every tenant. */
  tenant: string | null
  /** Null: all of them. */
  jobId: string | null
  from: number
  to: number
}

interface Row {
  job_id: string
  state: JobState
  tenant: string
  version: number
  created_at: number
  updated_at: number
  nominal: number | null
  spans: KnownSpan[] | null
  /** Null: there is nothing to verify. */
  definitions: (FireRow & { version: number })[] | null
  standing: boolean
}

/** At most `limit` jobs from `fromId` on. */
export async function readJobsToVerify(
  database: Database,
  { tenant, jobId, from, to }: JobsScope,
  fromId: string,
  limit: number,
): Promise<JobsPage> {
  const rows = await database.query<Row>('verify-jobs', 'select * from carillon.verify_jobs($1, $2, $3, $4, $5, $6)', [
    tenant,
    jobId,
    fromId,
    limit,
    from,
    to,
  ])
  return {
    jobs: rows.flatMap((row) => (row.definitions === null ? [] : [jobOf(row, row.definitions)])),
    stranded: rows.flatMap(({ standing, job_id: jobId, tenant, created_at: createdAt }) =>
      standing ? [] : [{ jobId, tenant, createdAt }],
    ),
    last: rows.length < limit ? null : rows.at(-1)!.job_id,
  }
}

function jobOf(row: Row, definitions: (FireRow & { version: number })[]): VerifiedJob {
  const { tenant, version, state, nominal } = row
  return {
    ...{ jobId: row.job_id, tenant, version, state, nominal, createdAt: row.created_at, updatedAt: row.updated_at },
    definitions: new Map(definitions.map((definition) => [definition.version, fireDefinitionOf(definition)])),
    spans: row.spans ?? [],
  }
}
