/**
 * On a server with LLVM a pinned plan would be JIT-compiled at every call: a scan that is switched off costs 1e10. So every
 * function that pins a plan says jit = off, and so does every session of a node; the doctor says when it is not so.
 */
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { examine, migrateDatabase, schemaSql } from '../../packages/server/src/administration/index.ts'
import { Database } from '../../packages/server/src/store/database.ts'
import { readServerSettings } from '../../packages/server/src/store/doctor/server.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'

let home: TestDatabase
let database: Database
let sql: pg.Client
beforeAll(async () => {
  home = await createDatabase()
  await migrateDatabase({ databaseUrl: home.url })
  database = new Database({ url: home.url, maxConnections: 1, statementTimeoutMs: 5_000, applicationName: 'test' })
  sql = new pg.Client({ connectionString: home.url })
  await sql.connect()
})
afterAll(async () => {
  await database.end()
  await sql.end()
  await home.drop()
})

const pinned = `select p.oid::regprocedure::text f, 'jit=off' = any (p.proconfig) off from pg_proc p
  where p.pronamespace = 'carillon'::regnamespace and p.proconfig::text ~ '(enable_|plan_cache_mode)'`

it('every function that pins a plan is never compiled', async () => {
  const { rows } = await sql.query<{ f: string; off: boolean }>(pinned)
  expect(rows.length).toBeGreaterThan(30)
  expect(rows.filter(({ off }) => !off)).toEqual([])
})

it('the schema applied by hand is the same in this', async () => {
  const other = await createDatabase()
  const client = new pg.Client({ connectionString: other.url })
  await client.connect()
  try {
    await client.query(schemaSql())
    const { rows } = await client.query<{ f: string; off: boolean }>(pinned)
    expect(rows.filter(({ off }) => !off)).toEqual([])
  } finally {
    await client.end()
    await other.drop()
  }
})

it('a session of a node has its settings, whatever those of the database and the role are', async () => {
  const set = (name: string, value: string) => sql.query(`alter database ${home.name} set ${name} = ${value}`)
  await set('jit', 'on')
  await set('default_transaction_isolation', `'serializable'`)
  await set('statement_timeout', '1')
  const fresh = new Database({ url: home.url, maxConnections: 1, statementTimeoutMs: 5_000, applicationName: 'test' })
  try {
    const settings = ['jit', 'transaction_isolation', 'statement_timeout', 'idle_in_transaction_session_timeout']
    const rows = await fresh.query<{ v: string }>(null, 'select current_setting(n) v from unnest($1::text[]) n', [
      settings,
    ])
    expect(rows.map(({ v }) => v)).toEqual(['off', 'read committed', '5s', '5s'])
  } finally {
    await fresh.end()
    for (const name of ['jit', 'default_transaction_isolation', 'statement_timeout'])
      await sql.query(`alter database ${home.name} reset ${name}`)
  }
})

it('the doctor names settings of the server that lose or damage data, and a standby', async () => {
  await sql.query(`alter database ${home.name} set synchronous_commit = off`)
  const findings = await examine({ databaseUrl: home.url })
  await sql.query(`alter database ${home.name} reset synchronous_commit`)
  const messages = findings.filter(({ check }) => check === 'settings').map(({ message }) => message)
  expect(messages.join()).toContain('synchronous_commit is off')
  // The server of the tests does not wait for the disk.
  expect(messages.join()).toContain('fsync is off')
})

it('the doctor finds functions that may be compiled', async () => {
  await sql.query(`create function carillon.odd() returns int language sql set enable_seqscan = off return 1`)
  expect((await readServerSettings(database)).compiled).toEqual(['odd'])
  await sql.query('drop function carillon.odd')
})
