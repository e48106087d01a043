/**
 * Partitions of the ledger, of its endings and log lines, of runs and their steps, by range of id and therefore of time. A new one is built aside and then
 * attached, which blocks no one; an old one is detached concurrently and then dropped. There is no default partition:
 * it would make every attach scan it.
 */
import type pg from 'pg'
import type { Database } from '../database.ts'

export interface Installation {
  /** Tells installations apart that share another server. */
  installationId: string
  shardCount: number
  partitionHours: number
  retentionDays: number
  floorId: string
  tzVersion: string | null
}

export async function readInstallation(database: Database): Promise<Installation> {
  const rows = await database.query<{
    installation_id: string
    shard_count: number
    partition_hours: number
    retention_days: number
    floor_id: string
    tz_version: string | null
  }>(
    'read-installation',
    `select installation_id, shard_count, partition_hours, retention_days, floor_id, tz_version
     from carillon.installation`,
  )
  const row = rows[0]!
  return {
    installationId: row.installation_id,
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
  /** Attached, of the ledger and of all that goes with it. Else a node died, or gave up, in the middle of making or removing it. */
  whole: boolean
}

const parents = ['executions', 'endings', 'log_lines', 'dag_runs', 'dag_steps'] as const

/** Oldest first. Partitions carry the start of their range in their name: executions_p<ms>. */
export async function readPartitions(database: Database): Promise<Partition[]> {
  const rows = await database.query<{ from: number; whole: boolean }>(
    null,
    `select substring(c.relname from '[0-9]+$')::bigint "from",
       count(*) filter (where not i.inhdetachpending) = ${parents.length} whole
     from pg_class c left join pg_inherits i on i.inhrelid = c.oid
     where c.relnamespace = 'carillon'::regnamespace and c.relkind = 'r' and c.relname ~ '^(${parents.join('|')})_p[0-9]+$'
     group by 1 order by 1`,
  )
  return rows
}

/** Builds the partition that starts at `from` and attaches it. Harmless if it is there already. See functions/administration/partitions.sql. */
export async function createPartition(database: Database, from: number, until: number): Promise<void> {
  await withConnection(database, { lockTimeoutMs: 1_000, statementTimeoutMs: 10_000 }, async (client) => {
    for (const parent of parents)
      await client.query('select carillon.create_partition($1, $2, $3)', [parent, from, until])
  })
}

/** Nothing is written below this id from now on. It never sinks. */
export async function raiseFloor(database: Database, floorId: string): Promise<void> {
  await database.query(null, 'update carillon.installation set floor_id = $1 where floor_id < $1', [floorId])
}

/**
 * The smallest id below `belowId` that is still needed: by unfinished work, or by a dead letter that died after
 * `diedAfter`, however long ago it was born. Reads all of `ready`, and the dead letters below.
 */
export async function readOldestNeeded(database: Database, belowId: string, diedAfter: number): Promise<string | null> {
  const limits = { lockTimeoutMs: 1_000, statementTimeoutMs: 60_000 }
  return withConnection(database, limits, async (client) => {
    const { rows } = await client.query<{ id: string | null }>(
      `select min(id::text)::uuid id from (
         select min(execution_id::text)::uuid id from carillon.ready union all
         (select execution_id from carillon.running order by execution_id limit 1) union all
         (select execution_id from carillon.retries order by execution_id limit 1) union all
         (select execution_id from carillon.waiting order by execution_id limit 1) union all
         (select execution_id from carillon.blocked order by execution_id limit 1) union all
         (select execution_id from carillon.submissions order by execution_id limit 1) union all
         (select z.execution_id from carillon.quarantine z join carillon.executions e on e.execution_id = z.execution_id
           where e.state is null order by z.execution_id limit 1) union all
         select carillon.first_id(carillon.ms(min(s.nominal))) from carillon.schedules s
           join carillon.jobs j on j.job_id = s.job_id
           where s.due <= coalesce($3, clock_timestamp()) and j.type in ('ONE_SHOT', 'DELAYED') union all
         (select n.execution_id from carillon.endings n join carillon.executions e on e.execution_id = n.execution_id
           where n.execution_id < $1 and n.state = 'DEAD' and e.finished_at >= carillon.at($2)
           order by n.execution_id limit 1)) needed
       where id < $1`,
      [belowId, diedAfter, database.now],
    )
    return rows[0]!.id
  })
}

/** Removes the partition that starts at `from`, in whatever state a node that died in the middle left it. */
export async function dropPartition(database: Database, from: number): Promise<void> {
  await withConnection(database, { lockTimeoutMs: 1_000, statementTimeoutMs: 60_000 }, async (client) => {
    for (const parent of parents) {
      const name = `${parent}_p${from}`
      const { rows } = await client.query<{ pending: boolean | null; there: boolean; owned: boolean }>(
        `select (select inhdetachpending from pg_inherits where inhrelid = to_regclass('carillon.${name}')) pending,
           to_regclass('carillon.${name}') is not null there,
           (select pg_has_role(relowner, 'usage') from pg_class where oid = 'carillon.${parent}'::regclass) owned`,
      )
      const { pending, there, owned } = rows[0]!
      if (!owned) {
        // Everyone waits behind the lock that this waits for.
        await client.query('set lock_timeout = 200')
        await client.query('select carillon.drop_partition($1, $2)', [parent, from])
        continue
      }
      if (pending === true)
        await client.query(`alter table carillon.${parent} detach partition carillon.${name} finalize`)
      if (pending === false)
        await client.query(`alter table carillon.${parent} detach partition carillon.${name} concurrently`)
      if (there) await client.query(`drop table carillon.${name}`)
    }
  })
}

/** A connection of its own, with time limits of its own, thrown away afterwards. */
async function withConnection<T>(
  database: Database,
  limits: { lockTimeoutMs: number; statementTimeoutMs: number },
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await database.connect()
  try {
    await client.query(
      `set lock_timeout = ${limits.lockTimeoutMs}; set statement_timeout = ${limits.statementTimeoutMs}`,
    )
    return await work(client)
  } finally {
    client.release(true)
  }
}
