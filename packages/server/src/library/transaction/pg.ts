/** `pg`: a Client, or a PoolClient from `pool.connect()`, between its `begin` and its `commit`. */
import { type Adapter, noTransaction } from './adapter.ts'

export interface PgClient {
  query(text: string, values: unknown[]): Promise<{ rows: object[] }>
  escapeLiteral(text: string): string
}

interface Idleness {
  readyForQuery?: boolean
  getTransactionStatus?(): 'I' | 'T' | 'E' | null
}

const hint = `Send 'begin' on a client from pool.connect() and pass that client`

export const adaptPg: Adapter = (transaction) => {
  if (typeof transaction.query !== 'function') return undefined
  if (typeof transaction.totalCount === 'number' && typeof transaction.connect === 'function') {
    throw noTransaction('a pg Pool', hint)
  }
  // Others have a `query` too, and do not say on which connection it runs.
  if (typeof transaction.escapeLiteral !== 'function') return undefined
  const client = transaction as unknown as PgClient & Idleness
  // Only a client with nothing under way knows: a `begin` may be on its way though nobody waited for it.
  if (client.readyForQuery === true && client.getTransactionStatus?.() === 'I') {
    throw noTransaction('a pg client without begin', hint)
  }
  return async (text, values) => (await client.query(text, values)).rows
}
