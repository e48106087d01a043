import { bigints, texts } from '../arrays.ts'
import type { Database } from '../database.ts'
import type { StatsRow, StoredStep } from './figures.ts'

/**
 * Writes what a node has counted, or what was added up (`nodeId` null), in place of what it wrote before. Locks: its own rows, by key.
 * Index: stats_pkey.
 */
export async function writeStats(
  database: Database,
  { step, nodeId, rows }: { step: StoredStep; nodeId: string | null; rows: readonly StatsRow[] },
): Promise<void> {
  await database.query(
    'write-stats',
    `insert into carillon.stats (step, tenant, at, pool, handler, node_id, figures)
     select $1, i.tenant, carillon.at(i.at), i.pool, i.handler, coalesce($2::uuid, '00000000-0000-0000-0000-000000000000'),
       i.figures::bytea
     from unnest($3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[]) i(tenant, at, pool, handler, figures)
     order by i.tenant, i.pool, i.handler, i.at
     on conflict (step, tenant, pool, handler, at, node_id) do update set figures = excluded.figures`,
    [
      ...[step, nodeId, texts(rows.map((row) => row.tenant)), bigints(rows.map((row) => row.at))],
      ...[texts(rows.map((row) => row.pool)), texts(rows.map((row) => row.handler))],
      texts(rows.map((row) => `\\x${row.figures.toString('hex')}`)),
    ],
  )
}
