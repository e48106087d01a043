/**
 * Statements in the caller's own transaction, whatever library it was begun with. Only what is needed: run one statement
 * with `$1` parameters and give back its rows. The transaction stays the caller's; nothing is begun, committed or locked.
 *
 * What must stay true: a value arrives as it was sent, whatever the caller taught its library about types, and an error
 * of PostgreSQL comes back with its SQLSTATE. A library is recognised by the shape of its objects and never imported.
 */
import { CarillonError } from '@carillon/contract'
import type { Shape, Statement } from './transaction/adapter.ts'
import { adaptDrizzle, type DrizzleTransaction } from './transaction/drizzle.ts'
import { adaptKnex, type KnexTransaction } from './transaction/knex.ts'
import { adaptKysely, type KyselyTransaction } from './transaction/kysely.ts'
import { adaptPg, type PgClient } from './transaction/pg.ts'
import { adaptPostgresJs, type PostgresJsTransaction } from './transaction/postgres-js.ts'

/**
 * A transaction of one of these libraries. What is not one (a pool, a database object) is refused.
 *
 * @example
 * ```ts
 * // pg: a client on which BEGIN was sent
 * await client.query('begin')
 * await carillon.enqueue(greet, { name: 'Ada' }, { tx: client })
 * await client.query('commit')
 *
 * // postgres.js
 * await sql.begin((sql) => carillon.enqueue(greet, { name: 'Ada' }, { tx: sql }))
 *
 * // Drizzle, on pg or on postgres.js
 * await db.transaction((tx) => carillon.enqueue(greet, { name: 'Ada' }, { tx }))
 *
 * // Kysely
 * await db.transaction().execute((tx) => carillon.enqueue(greet, { name: 'Ada' }, { tx }))
 *
 * // Knex
 * await knex.transaction((tx) => carillon.enqueue(greet, { name: 'Ada' }, { tx }))
 * ```
 */
export type Transaction = PgClient | PostgresJsTransaction | DrizzleTransaction | KyselyTransaction | KnexTransaction

export type Value = string | number | Date | null

/** Names of columns come back in lower case: a library may have been told to write them in its own way. */
export type RunIn = <Row>(text: string, values: readonly Value[]) => Promise<Row[]>

const adapters = [adaptPostgresJs, adaptKnex, adaptKysely, adaptDrizzle, adaptPg]

export function runIn(transaction: Transaction): RunIn {
  const run = recognise(transaction)
  return async <Row>(text: string, values: readonly Value[]) =>
    (await run(allAsText(text), values.map(textOf))).map(lowerCased) as Row[]
}

function recognise(transaction: unknown): Statement {
  if ((typeof transaction === 'object' && transaction !== null) || typeof transaction === 'function') {
    for (const adapt of adapters) {
      const run = adapt(transaction as Shape)
      if (run) return run
    }
  }
  throw new CarillonError('VALIDATION', {
    pointer: '/tx',
    message: 'tx is not a transaction of a known library',
    hint: 'Pass a pg client, a postgres.js transaction, or a Drizzle, Kysely or Knex transaction',
  })
}

/**
 * Every parameter travels as text and is cast by PostgreSQL. Otherwise each library would write it its own way: JSON text
 * would become a JSON string in postgres.js, a date would depend on how the caller maps dates.
 */
function allAsText(text: string): string {
  return text.replace(/\$\d+/g, '$&::text')
}

function textOf(value: Value): string | null {
  if (value === null) return null
  return value instanceof Date ? value.toISOString() : String(value)
}

function lowerCased(row: object): object {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name.toLowerCase(), value]))
}
