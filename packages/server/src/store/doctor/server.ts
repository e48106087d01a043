/** What the doctor asks PostgreSQL about itself. Reads system views only; no locks. */
import type { Database } from '../database.ts'

export interface ServerFacts {
  version: string
  versionNumber: number
  /** Milliseconds since 1970, by the server's clock. */
  now: number
  maxConnections: number
  reservedConnections: number
  connections: number
  /** Those of Carillon's nodes, by their application name. */
  ownConnections: number
  autovacuum: boolean
}

export async function readServerFacts(database: Database): Promise<ServerFacts> {
  const rows = await database.query<{
    version: string
    number: number
    now: number
    max: number
    reserved: number
    connections: number
    own: number
    autovacuum: boolean
  }>(
    null,
    `select current_setting('server_version') version, current_setting('server_version_num')::int number,
       extract(epoch from clock_timestamp())::float8 * 1000 now, current_setting('max_connections')::int max,
       current_setting('superuser_reserved_connections')::int reserved,
       count(*) filter (where backend_type = 'client backend')::int connections,
       count(*) filter (where application_name like 'carillon%')::int own,
       current_setting('autovacuum')::boolean autovacuum
     from pg_stat_activity`,
  )
  const row = rows[0]!
  return {
    version: row.version,
    versionNumber: row.number,
    now: row.now,
    maxConnections: row.max,
    reservedConnections: row.reserved,
    connections: row.connections,
    ownConnections: row.own,
    autovacuum: row.autovacuum,
  }
}

export interface HeldBack {
  /** A session, a prepared transaction or a replication slot. */
  kind: 'SESSION' | 'PREPARED' | 'SLOT'
  /** The process id, the transaction's id or the slot's name. */
  id: string
  who: string
  state: string
  /** How long its transaction has been open; null for slots. */
  ageMs: number | null
  /** How many transactions have begun since. */
  transactions: number
}

/** What keeps vacuum from removing dead rows here, the oldest first; this session is not meant. */
export async function readHeldBack(database: Database): Promise<HeldBack[]> {
  const rows = await database.query<{
    kind: HeldBack['kind']
    id: string
    who: string
    state: string
    age_ms: number | null
    transactions: number
  }>(
    null,
    `select * from (
       select 'SESSION' kind, pid::text id, coalesce(nullif(application_name, ''), usename::text, '?') who,
         coalesce(state, '?') state, extract(epoch from clock_timestamp() - xact_start)::float8 * 1000 age_ms,
         age(backend_xmin) transactions
       from pg_stat_activity
       where backend_xmin is not null and pid <> pg_backend_pid() and datname = current_database()
       union all
       select 'PREPARED', gid, owner::text, 'prepared', extract(epoch from clock_timestamp() - prepared)::float8 * 1000,
         age(transaction)
       from pg_prepared_xacts where database = current_database()
       union all
       select 'SLOT', slot_name::text, coalesce(plugin::text, slot_type), case when active then 'active' else 'inactive' end, null,
         greatest(age(xmin), age(catalog_xmin))
       from pg_replication_slots where xmin is not null or catalog_xmin is not null
     ) held order by transactions desc, age_ms desc nulls last limit 5`,
  )
  return rows.map(({ age_ms, ...row }) => ({ ...row, ageMs: age_ms }))
}

export interface ServerSettings {
  /** As a session finds them that changes nothing: from the files, the database and the role. */
  values: Record<SettingName, string>
  /** Whether LLVM is installed: without it `jit` means nothing. */
  jitAvailable: boolean
  /** A standby, or a server that still recovers. */
  inRecovery: boolean
  /** Functions with pinned plans that may be JIT-compiled. */
  compiled: string[]
}

const settingNames = [
  'jit',
  'fsync',
  'full_page_writes',
  'synchronous_commit',
  'default_transaction_read_only',
] as const
type SettingName = (typeof settingNames)[number]

export async function readServerSettings(database: Database): Promise<ServerSettings> {
  const rows = await database.query<{
    values: Record<SettingName, string>
    jit: boolean
    recovery: boolean
    compiled: string[]
  }>(
    null,
    `select (select jsonb_object_agg(name, reset_val) from pg_settings where name = any ($1::text[])) "values",
       pg_jit_available() jit, pg_is_in_recovery() recovery,
       array(select p.proname::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace
         where n.nspname = 'carillon' and p.proconfig::text ~ '(enable_|plan_cache_mode)' and not 'jit=off' = any (p.proconfig)
         order by 1) compiled`,
    [settingNames],
  )
  const { values, jit, recovery, compiled } = rows[0]!
  return { values, jitAvailable: jit, inRecovery: recovery, compiled }
}
