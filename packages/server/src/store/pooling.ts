/**
 * Whether a URL leads to PostgreSQL itself, or to a pooler that lends its connections for one transaction each (PgBouncer with
 * `pool_mode = transaction`). There LISTEN hears nothing, session locks are lost, settings leak to others, and prepared
 * statements are missing; a node needs a second URL for these.
 */
import { CarillonError } from '@carillon/contract'
import { PostgresClient } from '../lib/postgres-client.ts'

/** Throws if sessions cannot be relied on. `pointer`: the setting that holds the URL. */
export async function requireSessions(url: string, pointer: '/databaseUrl' | '/directUrl'): Promise<void> {
  if (!(await lendsByTransaction(url))) return
  const name = pointer.slice(1)
  throw new CarillonError('CONFIG_INVALID', {
    pointer,
    message: `${name} leads to a pooler that lends connections by the transaction (PgBouncer with pool_mode = transaction)`,
    hint:
      pointer === '/databaseUrl'
        ? 'Give directUrl too (--direct-url or CARILLON_DIRECT_URL): a URL of PostgreSQL itself, for LISTEN, locks and migrations'
        : 'Give a URL of PostgreSQL itself',
  })
}

/**
 * A pooler tells each client a process id of its own, so one look is enough when there is none. If there is one, a second
 * client opens a transaction between two statements of the first: if that gets the first one's connection, or the first
 * one finds itself on another, connections are lent by the transaction.
 */
async function lendsByTransaction(url: string): Promise<boolean> {
  return withClient(url, async (first) => {
    const mine = await backendOf(first)
    if (mine === (first as unknown as { processID: number }).processID) return false
    return withClient(url, async (second) => {
      try {
        await second.query('begin')
      } catch {
        return true // lent by the statement
      }
      return (await backendOf(second)) === mine || (await backendOf(first)) !== mine
    })
  })
}

async function backendOf(client: PostgresClient): Promise<number> {
  const { rows } = await client.query('select pg_backend_pid() pid')
  return rows[0].pid
}

async function withClient<T>(url: string, work: (client: PostgresClient) => Promise<T>): Promise<T> {
  const client = new PostgresClient({
    ...{ connectionString: url, application_name: 'carillon', connectionTimeoutMillis: 10_000 },
  })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
