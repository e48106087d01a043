/**
 * Statements in the caller's own transaction, whatever library it was begun with. Only what is needed: run one statement
 * with `$1` parameters and give back its rows. The transaction stays the caller's; nothing is begun, committed or locked.
 */
import { CarillonError } from '@carillon/contract'

/** A `pg` client, a postgres.js transaction, or one of Drizzle, Kysely or Knex. */
export type Transaction = object

export type RunIn = <Row>(text: string, values: unknown[]) => Promise<Row[]>

export function runIn(transaction: Transaction): RunIn {
  const tx = transaction as { query?: unknown }
  if (typeof tx.query === 'function') {
    const query = tx.query as (text: string, values: unknown[]) => Promise<{ rows: never[] }>
    return async (text, values) => (await query.call(transaction, text, values)).rows
  }
  throw new CarillonError('VALIDATION', {
    pointer: '/tx',
    message: 'is not a transaction of a known library',
    hint: 'Pass a pg client, a postgres.js transaction, or a Drizzle, Kysely or Knex transaction',
  })
}
