/**
 * Jobs whose definition is in the ledger only: submissions, and one-shots that have fired; and what a caller enqueued in a
 * transaction of its own and is not taken up yet.
 */
import { defaults } from '@carillon/contract'
import type { Database } from '../database.ts'
import { iso, type JobRecord, type StoredPolicy } from '../rows.ts'

interface Row {
  tenant: string
  name: string | null
  pool: string
  lane: number
  handler: string
  payload: string | null
  policy: StoredPolicy | null
  labels: Record<string, string> | null
  run_at: number
  /** Null: not fired yet. */
  fired_at: number | null
  finished_at: number | null
}

const definition = 'tenant, name, pool, lane, handler, payload, policy, labels'
const fired = `select ${definition}, carillon.ms(scheduled_for) run_at, carillon.ms(fired_at) fired_at,
  carillon.ms(finished_at) finished_at from carillon.executions`

/**
 * ACTIVE until its execution has ended, then COMPLETED. Indexes: executions_pkey; executions_job for one whose time was
 * changed, as its execution has an id of its own; submissions_pkey.
 */
export async function readLedgerJob(database: Database, tenant: string, jobId: string): Promise<JobRecord | null> {
  const read = async (name: string, text: string) => (await database.query<Row>(name, text, [jobId, tenant]))[0]
  const row =
    (await read(
      'read-ledger-job',
      `${fired} where execution_id = $1 and job_id = $1 and tenant = $2 and job_version is null`,
    )) ??
    (await read(
      'read-ledger-job-moved',
      `${fired} where job_id = $1 and job_id <> execution_id and tenant = $2 and job_version is null
       order by execution_id desc limit 1`,
    )) ??
    (await read(
      'read-enqueued-job',
      `select ${definition}, carillon.ms(run_at) run_at, null::bigint fired_at, null::bigint finished_at
       from carillon.submissions where execution_id = $1 and tenant = $2 and job_id is null`,
    ))
  return row ? record(jobId, row) : null
}

function record(jobId: string, row: Row): JobRecord {
  const { tenant, name, pool, lane, handler, payload, policy, labels } = row
  const due = row.fired_at === null ? row.run_at : null
  return {
    definition: {
      ...{ jobId, tenant, name: name ?? handler, type: 'ONE_SHOT', runAt: iso(row.run_at), runAtLocal: null },
      ...{ delayMs: null, after: null, schedule: null, interval: null, anchor: null, timezone: defaults.timezone },
      ...{ dst: defaults.dst, dayFields: defaults.dayFields, startAt: null, endAt: null },
      ...{ maxFires: null, jitterSec: 0, misfire: defaults.misfire, misfireAfterSec: defaults.misfireAfterSec },
      ...{ maxCatchUp: defaults.maxCatchUp, graceSec: null, overlap: defaults.overlap },
      ...{ startWithinSec: policy?.startWithinSec ?? null, deadlineSec: policy?.deadlineSec ?? null },
      ...{ pool, lane, handler, payload, policy, labels, key: null, managedBy: null },
    },
    version: 1,
    state: row.finished_at === null ? 'ACTIVE' : 'COMPLETED',
    shard: 0,
    nominal: due,
    due,
    fires: due === null ? 1 : 0,
    createdAt: row.fired_at ?? row.run_at,
    updatedAt: row.finished_at ?? row.fired_at ?? row.run_at,
  }
}
