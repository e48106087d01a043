/**
 * Rows that are gone but cannot be vacuumed, at the front of what FIRE and LEASE read: due, or tagged, before everything
 * alive. A snapshot that stays open, as of a long report query, keeps them.
 */
import pg from 'pg'
import { dueFrom, firstTag, shardCount } from './load.ts'

const count = 100_000

/** Disposing of the answer lets the snapshot go. */
export async function layDeadRows(url: string): Promise<AsyncDisposable> {
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  await holder.query('begin isolation level repeatable read; select from carillon.installation')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for (const table of Object.keys(inserts)) await client.query(`insert into carillon.${table} ${inserts[table]}`)
  for (const table of Object.keys(inserts)) await client.query(`delete from carillon.${table} where ${dead[table]}`)
  await client.end()
  return { [Symbol.asyncDispose]: () => holder.end() }
}

/** Ids of long ago, which no partition holds. */
const id = `(lpad(to_hex(i), 12, '0') || '80008000' || lpad(to_hex(i), 12, '0'))::uuid`
const due = `carillon.at(${dueFrom} - 60000 + i % 50000)`
const numbers = `from generate_series(1, ${count}) i`

const inserts: Record<string, string> = {
  ready: `(pool, lane, tag, execution_id) select 'default', 2, ${firstTag} - i, ${id} ${numbers}`,
  leases: `(lease_id, worker_id, pool, lane, tag_low, tag_high, leased_at, overdue_at, grace_sec, began, open, ids)
    select i, ${id}, 'default', 2, ${firstTag} - i, ${firstTag} - i, ${due}, ${due}, 10, true, 1, array[${id}] ${numbers}`,
  schedules: `(job_id, shard, version, nominal, due) select ${id}, i % ${shardCount}, 1, ${due}, ${due} ${numbers}`,
  retries: `(execution_id, shard, due, tenant, pool, lane, state)
    select ${id}, i % ${shardCount}, ${due}, 'tenant', 'default', 2, 'FAILED' ${numbers}`,
  submissions: `(execution_id, shard, tenant, pool, lane, handler, run_at)
    select ${id}, i % ${shardCount}, 'tenant', 'default', 2, 'send-email', ${due} ${numbers}`,
}

const long = `'00000001-0000-0000-0000-000000000000'`
const dead: Record<string, string> = {
  ready: `tag < ${firstTag}`,
  leases: `lease_id <= ${count}`,
  schedules: `job_id < ${long}`,
  retries: `execution_id < ${long}`,
  submissions: `execution_id < ${long}`,
}
