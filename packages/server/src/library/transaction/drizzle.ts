/**
 * Drizzle on pg or on postgres.js: the `tx` of `db.transaction`. Its statements need Drizzle's own `sql`, so ours go to
 * the connection underneath, which is the one that `tx` uses, and errors keep their SQLSTATE.
 */
import { type Adapter, noTransaction, type Shape } from './adapter.ts'
import { adaptPg } from './pg.ts'
import { adaptPostgresJs } from './postgres-js.ts'

export interface DrizzleTransaction {
  rollback(): never
  execute: unknown
}

export const adaptDrizzle: Adapter = (transaction) => {
  const { session, rollback, execute } = transaction as { session?: { client?: Shape }; [key: string]: unknown }
  const client = session?.client
  if (typeof execute !== 'function' || !client) return undefined
  if (typeof rollback !== 'function') {
    throw noTransaction('a Drizzle database', 'Pass the tx that db.transaction hands to your function')
  }
  return adaptPostgresJs(client) ?? adaptPg(client)
}
