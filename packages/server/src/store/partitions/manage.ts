/**
 * Partitions of the ledger and of its endings, by range of id and therefore of time. A new one is built aside and then
 * attached, which blocks nobody; an old one is detached concurrently and then dropped. There is no default partition:
 * it would make every attach scan it.
 */
import { firstIdAt } from '../../domain/identity.ts'
import type { Database } from '../database.ts'

export interface Installation {
  shardCount: number
  partitionHours: number
  retentionDays: number
  floorId: string
  tzVersion: string | null
}

export async function readInstallation(database: Database): Promise<Installation> {
  const rows = await database.query<{
    shard_count: number
    partition_hours: number
    retention_days: number
    floor_id: string
    tz_version: string | null
  }>(
    'read-installation',
    'select shard_count, partition_hours, retention_days, floor_id, tz_version from carillon.installation',
  )
  const row = rows[0]!
  return {
    shardCount: row.shard_count,
    partitionHours: row.partition_hours,
    retentionDays: row.retention_days,
    floorId: row.floor_id,
    tzVersion: row.tz_version,
  }
}

export interface Partition {
  /** Start of its range, milliseconds since 1970. */
  from: number
  detachPending: boolean
}

const parents = ['executions', 'endings'] as const
type Parent = (typeof parents)[number]

/** Partitions carry the start of their range in their name: executions_p<ms>. */
export async function readPartitions(database: Database, parent: Parent = 'executions'): Promise<Partition[]> {
  const rows = await database.query<{ name: string; pending: boolean }>(
    null,
    `select c.relname name, i.inhdetachpending pending from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = ('carillon.' || $1)::regclass order by c.relname`,
    [parent],
  )
  return rows
    .map((row) => ({ from: Number(row.name.slice(parent.length + 2)), detachPending: row.pending }))
    .sort((a, b) => a.from - b.from)
}

/** Builds the partition that starts at `from` and attaches it. Harmless if it is there already. */
export async function createPartition(database: Database, from: number, until: number): Promise<void> {
  const client = await database.connect()
  try {
    await client.query(`set lock_timeout = '1s'; set statement_timeout = '10s'`)
    for (const parent of parents) {
      const name = `${parent}_p${from}`
      const low = firstIdAt(from)
      const high = firstIdAt(until)
      const { rows } = await client.query<{ attached: boolean }>(
        `select exists (select from pg_inherits where inhrelid = to_regclass('carillon.${name}')) attached`,
      )
      if (rows[0]!.attached) continue
      await client.query('begin')
      try {
        // One node at a time; the others find it attached.
        await client.query(`select pg_advisory_xact_lock(hashtext('carillon.${name}'))`)
        await client.query(`
          create table if not exists carillon.${name} (
            like carillon.${parent} including defaults including constraints including indexes,
            constraint bounds check (execution_id >= '${low}' and execution_id < '${high}')
          ) with (fillfactor = ${parent === 'executions' ? 50 : 100}, autovacuum_vacuum_insert_scale_factor = 0.2)`)
        const attached = await client.query(`select from pg_inherits where inhrelid = 'carillon.${name}'::regclass`)
        if (attached.rowCount === 0) {
          await client.query(
            `alter table carillon.${parent} attach partition carillon.${name} for values from ('${low}') to ('${high}')`,
          )
          await client.query(`alter table carillon.${name} drop constraint bounds`)
        }
        await client.query('commit')
      } catch (error) {
        await client.query('rollback')
        throw error
      }
    }
  } finally {
    client.release(true)
  }
}

/** Nothing is written below this id from now on. It never sinks. */
export async function raiseFloor(database: Database, floorId: string): Promise<void> {
  await database.query(null, 'update carillon.installation set floor_id = $1 where floor_id < $1', [floorId])
}

/** The smallest id that unfinished work, or a dead letter younger than `keepDeadAfter`, still needs. */
export async function readOldestNeeded(database: Database, keepDeadAfterId: string): Promise<string | null> {
  const rows = await database.query<{ id: string | null }>(
    null,
    `select min(id::text)::uuid id from (
       select min(execution_id::text)::uuid id from carillon.ready union all
       select min(execution_id::text)::uuid from carillon.running union all
       select min(execution_id::text)::uuid from carillon.retries union all
       select min(execution_id::text)::uuid from carillon.waiting union all
       select min(execution_id::text)::uuid from carillon.submissions union all
       select carillon.first_id(carillon.ms(min(s.nominal))) from carillon.schedules s
         join carillon.jobs j on j.job_id = s.job_id
         where s.due <= clock_timestamp() and j.type in ('ONE_SHOT', 'DELAYED') union all
       select min(n.execution_id::text)::uuid from carillon.endings n
         where n.state = 'DEAD' and n.execution_id >= $1) needed`,
    [keepDeadAfterId],
  )
  return rows[0]!.id
}

export async function dropPartition(database: Database, from: number): Promise<void> {
  const client = await database.connect()
  try {
    await client.query(`set lock_timeout = '1s'; set statement_timeout = '60s'`)
    for (const parent of parents) {
      const name = `${parent}_p${from}`
      const { rows } = await client.query<{ pending: boolean | null; there: boolean }>(
        `select (select inhdetachpending from pg_inherits where inhrelid = to_regclass('carillon.${name}')) pending,
           to_regclass('carillon.${name}') is not null there`,
      )
      // A node that died in the middle left it half detached.
      if (rows[0]!.pending === true)
        await client.query(`alter table carillon.${parent} detach partition carillon.${name} finalize`)
      if (rows[0]!.pending === false)
        await client.query(`alter table carillon.${parent} detach partition carillon.${name} concurrently`)
      if (rows[0]!.there) await client.query(`drop table carillon.${name}`)
    }
  } finally {
    client.release(true)
  }
}
