/** postgres.js: the `sql` that `sql.begin` or `sql.savepoint` hands to its function. */
import { type Adapter, isCallable, noTransaction } from './adapter.ts'

export interface PostgresJsTransaction {
  unsafe(text: string, values?: (string | null)[]): PromiseLike<readonly object[]>
  savepoint: unknown
}

export const adaptPostgresJs: Adapter = (transaction) => {
  if (!isCallable(transaction) || typeof transaction.unsafe !== 'function') return undefined
  if (typeof transaction.savepoint !== 'function') {
    throw noTransaction(
      'the sql of postgres.js outside sql.begin',
      'Pass the sql that sql.begin hands to your function',
    )
  }
  const sql = transaction as unknown as PostgresJsTransaction
  return async (text, values) => [...(await sql.unsafe(text, values))]
}
