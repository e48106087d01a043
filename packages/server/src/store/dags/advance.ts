/** What the leader of a shard does with steps and runs that wait for nothing more. See functions/dags/advance.sql. */
import { bigints, jsonbs, texts, uuids } from '../arrays.ts'
import type { Database } from '../database.ts'
import { type QueuedWork, queuedOf } from '../rows.ts'
import type { LedShard } from '../shards/claim.ts'

/** A step, or a run itself (`number` null), that waits for nothing more. */
export interface Released {
  executionId: string
  runId: string
  shard: number
  /** Of those it waited for. */
  failed: number
  skipped: number
  number: number | null
  tenant: string
  pool: string
  lane: number
  /** Of a run. Null: no execution has started it. */
  startedBy: string | null
  /** Of a run that an execution has started. */
  startedFence: number | null
  maxFailures: number
  cancelReason: 'RUN_CANCELLED' | 'RUN_DEADLINE' | null
  fanOut: boolean
}

export async function readReleased(
  database: Database,
  shards: readonly LedShard[],
  limit: number,
): Promise<Released[]> {
  return database.query<Released>(
    'read-released',
    `select execution_id "executionId", run_id "runId", shard, failed, skipped, number, tenant, pool, lane,
       started_by "startedBy", started_fence "startedFence", max_failures "maxFailures", cancel_reason "cancelReason", fan_out "fanOut"
     from carillon.read_released($1, $2)`,
    [shards.map(({ shard }) => shard), limit],
  )
}

/** How steps have ended: `result` is JSON text. Index: executions_pkey, of the partitions between the least and the greatest id. */
export async function readOutcomes(
  database: Database,
  ids: string[],
): Promise<{ executionId: string; state: string | null; result: string | null; finishedAt: number | null }[]> {
  if (ids.length === 0) return []
  return database.query(
    'read-outcomes',
    `select e.execution_id "executionId", e.state, e.result, carillon.ms(e.finished_at)::float8 "finishedAt"
     from unnest($1::uuid[]) i(id) join carillon.executions e on e.execution_id = i.id and e.execution_id between $2 and $3`,
    [uuids(ids), ...ends(ids)],
  )
}

function ends(ids: readonly string[]): [least: string, greatest: string] {
  let [least, greatest] = [ids[0]!, ids[0]!]
  for (const id of ids) {
    if (id < least) least = id
    if (id > greatest) greatest = id
  }
  return [least, greatest]
}

export interface Advance {
  executionId: string
  runId: string
  /** WAIT: it waits for a signal. END: it is a run. */
  verdict: 'READY' | 'WAIT' | 'SKIPPED' | 'END'
  reason: string | null
  tag: number
  /** Members of a JSON object. */
  inputs: string | null
  /** Why its condition could not be answered. */
  error: { name: string; message: string } | null
  /** Of a run that an execution has started: the fence under which that one was told. */
  fence: number | null
}

export interface Advanced {
  moved: string[]
  queued: QueuedWork[]
  skipped: string[]
  cancelled: string[]
  /** Runs. */
  ended: string[]
  /** Shards in which something else waits for nothing more because of that. */
  released: number[]
}

export async function advance(
  database: Database,
  shards: readonly LedShard[],
  items: readonly Advance[],
): Promise<Advanced> {
  const rows = await database.query<{
    moved: string[] | null
    queued: [string, number, number, number][] | null
    skipped: string[] | null
    cancelled: string[] | null
    ended: string[] | null
    released: number[] | null
  }>('advance', 'select * from carillon.advance($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)', [
    shards.map((s) => s.shard),
    shards.map((s) => s.epoch),
    uuids(items.map((i) => i.executionId)),
    uuids(items.map((i) => i.runId)),
    texts(items.map((i) => i.verdict)),
    texts(items.map((i) => i.reason)),
    bigints(items.map((i) => i.tag)),
    texts(items.map((i) => i.inputs)),
    jsonbs(items.map((i) => i.error && JSON.stringify(i.error))),
    bigints(items.map((i) => i.fence)),
    database.now,
  ])
  const row = rows[0]
  return {
    moved: row?.moved ?? [],
    queued: queuedOf(row?.queued ?? null),
    skipped: row?.skipped ?? [],
    cancelled: row?.cancelled ?? [],
    ended: row?.ended ?? [],
    released: row?.released ?? [],
  }
}

/** Nobody takes these up until their run is resumed. */
export async function holdBack(database: Database, ids: string[]): Promise<void> {
  await database.query(
    'hold-back',
    `update carillon.blocked b set held = true
     where b.execution_id = any (array(
       select x.execution_id from carillon.blocked x where x.execution_id = any ($1::uuid[]) and x.remaining = 0
       order by x.execution_id for update))`,
    [ids],
  )
}
