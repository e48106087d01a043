/** What the ledger has of a job's occurrences, for backfills. */
import type { Recorded, SkippedRow } from '../../domain/schedule/backfill.ts'
import type { Database } from '../database.ts'

interface Row {
  id: string
  nominal: number
  state: string | null
  last: number | null
  count: number | null
  version: number | null
}

const columns = `e.execution_id id, carillon.ms(e.scheduled_for) nominal, e.state, carillon.ms(e.skipped_last) "last",
  e.skipped_count count, e.job_version "version"`

/** By nominal time; those without a row are left out. Index: executions_pkey. */
export async function readRecorded(database: Database, ids: string[]): Promise<Map<number, Recorded>> {
  const rows = await database.query<Row>(
    'read-recorded',
    `select ${columns} from unnest($1::uuid[]) i(execution_id)
     join carillon.executions e on e.execution_id = i.execution_id`,
    [ids],
  )
  return new Map(rows.map((row) => [row.nominal, { skipped: row.state === 'SKIPPED' ? skippedOf(row) : null }]))
}

/** The last SKIPPED row of a job before `belowId` that stands for several occurrences. Index: executions_skipped. */
export async function readSkippedBefore(
  database: Database,
  jobId: string,
  belowId: string,
): Promise<SkippedRow | null> {
  const rows = await database.query<Row>(
    'read-skipped-before',
    `select ${columns} from carillon.executions e
     where (e.job_id, e.execution_id) > ($1::uuid, '00000000-0000-0000-0000-000000000000')
       and (e.job_id, e.execution_id) < ($1::uuid, $2::uuid) and e.execution_id < $2::uuid
       and e.skipped_last is not null and e.state = 'SKIPPED'
     order by e.job_id desc, e.execution_id desc limit 1`,
    [jobId, belowId],
  )
  return rows[0] ? skippedOf(rows[0]) : null
}

/** Which of these have not ended. Index: executions_pkey. */
export async function readOpen(database: Database, ids: string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = await database.query<{ id: string }>(
    'read-open',
    `select e.execution_id id from unnest($1::uuid[]) i(execution_id)
     join carillon.executions e on e.execution_id = i.execution_id where e.state is null`,
    [ids],
  )
  return rows.map((row) => row.id)
}

function skippedOf({ id, nominal, last, count, version }: Row): SkippedRow {
  return { id, first: nominal, last: last ?? nominal, count: count ?? 1, version }
}
