/**
 * The database of the runs, one after the other: the real schema, the partitions of every day a run may see, and the
 * triggers of the trace. Between two runs it is emptied rather than made anew, because connections then keep what they
 * have compiled; rows lie where they would lie in a new one, and sequences begin again, so that a run finds it as any other.
 */
import pg from 'pg'
import { firstIdAt } from '../../packages/server/src/domain/identity.ts'
import { Database } from '../../packages/server/src/store/database.ts'
import { migrate } from '../../packages/server/src/store/migrate.ts'
import { createPartition } from '../../packages/server/src/store/partitions/manage.ts'
import type { Ask } from '../ledger.ts'
import { type Connections, connect } from './postgres.ts'
import { firstDay, lastDay } from './start-times.ts'
import { triggersSql } from './trace.ts'
import type { SqlChange } from './variants/variant.ts'

export const installation = { shardCount: 6, partitionHours: 24 * 31, retentionDays: 365 }
const hourMs = 3_600_000
const dayMs = 24 * hourMs

export class Ground {
  readonly connections: Connections
  /** For whoever looks at it between two runs. */
  readonly database: Database
  readonly #client: pg.Client

  private constructor(client: pg.Client, connections: Connections, database: Database) {
    this.#client = client
    this.connections = connections
    this.database = database
  }

  /** On an empty database. */
  static async lay(url: string): Promise<Ground> {
    const database = new Database({ url, maxConnections: 2, statementTimeoutMs: 60_000, applicationName: 'simulation' })
    await migrate(database, installation)
    const width = installation.partitionHours * hourMs
    for (let from = Math.floor((firstDay - dayMs) / width) * width; from < lastDay + 3 * width; from += width) {
      await createPartition(database, from, from + width)
    }
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(triggersSql)
    return new Ground(client, await connect(url), database)
  }

  ask: Ask = async (text) => (await this.#client.query(text)).rows

  /** As it is when a first node has just laid it, at this time. */
  async clear(startAt: number): Promise<void> {
    const { shardCount, partitionHours, retentionDays } = installation
    const floor = firstIdAt(Math.floor(startAt / dayMs) * dayMs - dayMs)
    await this.#client.query(`
      set session_replication_role = replica;
      do $$
      declare
        v_full text := (
          select string_agg(format('carillon.%I', c.relname), ', ') from pg_class c
          where c.relnamespace = 'carillon'::regnamespace and c.relkind = 'r' and pg_relation_size(c.oid) > 0
            and c.relname not in ('migrations', 'function_texts', 'secrets'));
      begin
        if v_full is not null then
          execute 'truncate ' || v_full || ' restart identity';
        end if;
        perform setval(c.oid, 1, false) from pg_class c
        where c.relnamespace = 'carillon'::regnamespace and c.relkind = 'S';
      end $$;
      set session_replication_role = origin;
      insert into carillon.installation (shard_count, partition_hours, retention_days, floor_id, created_at)
      values (${shardCount}, ${partitionHours}, ${retentionDays}, '${floor}', to_timestamp(${startAt / 1_000}));
      insert into carillon.shards (shard) select generate_series(0, ${shardCount - 1});
      insert into carillon.pools (pool) values ('default')`)
  }

  /** Changes the text of an installed function; answers how to take that back. A text that is not found is a defect. */
  async change({ name, from, to }: SqlChange): Promise<() => Promise<void>> {
    const { rows } = await this.#client.query<{ text: string }>(
      `select pg_get_functiondef(p.oid) text from pg_proc p
       where p.pronamespace = 'carillon'::regnamespace and p.proname = $1`,
      [name],
    )
    const text = rows[0]?.text
    if (rows.length !== 1 || text === undefined || !text.includes(from)) {
      throw new Error(`the function carillon.${name} does not contain: ${from}`)
    }
    await this.#client.query(text.replaceAll(from, to))
    return async () => {
      await this.#client.query(text)
    }
  }

  async end(): Promise<void> {
    const { lines, session, monitor } = this.connections
    await this.database.end()
    await Promise.all([this.#client, monitor, ...[...lines, session].map(({ client }) => client)].map((c) => c.end()))
  }
}
