/** The store of a peer that keeps its jobs in PostgreSQL: a database of its own on the server all share. */
import { Client } from 'pg'
import type { Ground } from '../ground/ground.ts'
import type { Place, Store } from './wiring.ts'

export interface PostgresStoreOptions {
  settings: unknown
  /** Creates its tables. */
  prepare(place: Place): Promise<void>
  /** How many are not done yet. */
  pending: string
  /** How many it remembers as done, if it does. */
  finished: string | null
}

export async function openPostgresStore(ground: Ground, options: PostgresStoreOptions): Promise<Store> {
  const { settings, prepare, pending, finished } = options
  const database = await ground.emptyDatabase()
  const place = { url: database.url, settings }
  await prepare(place)
  const client = new Client({ connectionString: database.url })
  // A lost connection fails whoever asks; by itself it only means that the benchmark is ending.
  client.on('error', () => {})
  await client.connect()
  const count = async (text: string) => Number((await client.query<{ count: string }>(text)).rows[0]!.count)
  return {
    place,
    pending: () => count(pending),
    finished: async () => (finished === null ? null : count(finished)),
    settle: () => settleDatabase(async (text) => (await client.query(text)).rows),
    [Symbol.asyncDispose]: async () => {
      await client.end()
      await database[Symbol.asyncDispose]()
    },
  }
}

/** Vacuums what has changed, and forces all of it to disk. */
export async function settleDatabase(query: (text: string) => Promise<object[]>): Promise<void> {
  const changed = (await query(`
    select format('%I.%I', schemaname, relname) as table from pg_stat_user_tables
    where n_dead_tup > 0 or n_mod_since_analyze > 0`)) as { table: string }[]
  if (changed.length > 0) await query(`VACUUM (ANALYZE) ${changed.map(({ table }) => table).join(', ')}`)
  await query('CHECKPOINT')
}
