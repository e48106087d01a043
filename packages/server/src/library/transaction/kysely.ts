/** Kysely: the transaction of `db.transaction().execute`, or a controlled one. */
import { randomUUID } from 'node:crypto'
import { type Adapter, noTransaction } from './adapter.ts'

export interface KyselyTransaction {
  readonly isTransaction: true
  executeQuery: unknown
}

interface CompiledQuery {
  sql: string
  parameters: readonly unknown[]
  query: { kind: 'RawNode'; sqlFragments: readonly string[]; parameters: readonly never[] }
  queryId: { queryId: string }
}

export const adaptKysely: Adapter = (transaction) => {
  if (typeof transaction.executeQuery !== 'function') return undefined
  if (transaction.isTransaction !== true) {
    throw noTransaction(
      'a Kysely database',
      'Pass the transaction that db.transaction().execute hands to your function',
    )
  }
  const kysely = transaction as unknown as { executeQuery(query: CompiledQuery): Promise<{ rows: object[] }> }
  return async (text, values) => (await kysely.executeQuery(compiled(text, values))).rows
}

/** What `CompiledQuery.raw` of Kysely makes. */
function compiled(sql: string, parameters: readonly unknown[]): CompiledQuery {
  const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] } as const
  return { sql, parameters, query, queryId: { queryId: randomUUID() } }
}
