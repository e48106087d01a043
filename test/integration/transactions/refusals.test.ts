import { CarillonError, defineHandler, type EnqueueOptions } from '@carillon/server'
import { drizzle as drizzleOnPg } from 'drizzle-orm/node-postgres'
import { drizzle as drizzleOnPostgresJs } from 'drizzle-orm/postgres-js'
import createKnex from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { completeIn } from '../../../packages/server/src/library/complete-in.ts'
import { openStage, type Stage } from './stage.ts'

const greet = defineHandler<{ name: string }>({ name: 'greet' })

let stage: Stage
let pool: pg.Pool
let client: pg.PoolClient
let sql: postgres.Sql
beforeAll(async () => {
  stage = await openStage()
  pool = new pg.Pool({ connectionString: stage.node.databaseUrl })
  client = await pool.connect()
  sql = postgres(stage.node.databaseUrl)
})
afterAll(async () => {
  client.release()
  await pool.end()
  await sql.end()
  await stage[Symbol.asyncDispose]()
})

const others: [string, () => unknown, RegExp][] = [
  ['a pg pool', () => pool, /a pg Pool is not a transaction/],
  ['a pg client that did not begin', () => client, /without begin/],
  ['the sql of postgres.js itself', () => sql, /Pass the sql that sql.begin hands/],
  ['a Drizzle database on pg', () => drizzleOnPg({ client: pool }), /a Drizzle database is not/],
  ['a Drizzle database on postgres.js', () => drizzleOnPostgresJs({ client: sql }), /a Drizzle database is not/],
  ['Kysely itself', () => new Kysely({ dialect: new PostgresDialect({ pool }) }), /a Kysely database is not/],
  ['Knex itself', () => createKnex({ client: 'pg' }), /knex itself is not/],
  ['somebody else with a query function', () => ({ query: () => ({ rows: [] }) }), /known library/],
  ['an object', () => ({}), /known library/],
  ['a text', () => 'tx', /known library/],
]

describe('what is no transaction', () => {
  it.each(others)('%s is refused before anything is written', async (_, other, words) => {
    const tx = other() as EnqueueOptions['tx']
    const attempts = [
      () => stage.carillon.enqueue(greet, { name: 'Ada' }, { tx }),
      () => completeIn(tx, { executionId: crypto.randomUUID(), fence: 1, result: null }),
    ]
    for (const attempt of attempts) {
      const error = await attempt().then(
        () => null,
        (reason: unknown) => reason,
      )
      expect(error).toBeInstanceOf(CarillonError)
      expect(error).toMatchObject({ code: 'VALIDATION', errors: [{ pointer: '/tx', hint: expect.any(String) }] })
      expect((error as Error).message).toMatch(words)
    }
    const { rows } = await stage.admin.query('select count(*)::int n from carillon.submissions')
    expect(rows).toEqual([{ n: 0 }])
  })

  it('nothing at all is refused by completeIn', async () => {
    for (const tx of [undefined, null]) {
      const attempt = completeIn(tx, { executionId: crypto.randomUUID(), fence: 1, result: null })
      await expect(attempt).rejects.toMatchObject({ code: 'VALIDATION' })
    }
  })

  it('the compiler refuses the same', () => {
    const knex = createKnex({ client: 'pg' })
    const kysely = new Kysely<object>({ dialect: new PostgresDialect({ pool }) })
    // @ts-expect-error a pool has no transaction
    const options: EnqueueOptions[] = [{ tx: pool }]
    // @ts-expect-error outside sql.begin
    options.push({ tx: sql })
    // @ts-expect-error outside db.transaction
    options.push({ tx: drizzleOnPg({ client: pool }) })
    // @ts-expect-error outside db.transaction
    options.push({ tx: kysely })
    // @ts-expect-error outside knex.transaction
    options.push({ tx: knex })
    expect(options).toHaveLength(5)
  })
})

it('a begin that nobody waited for is a transaction', async () => {
  void client.query('begin')
  const handle = await stage.carillon.enqueue(greet, { name: 'Ada' }, { tx: client })
  expect(await stage.rowsOf(handle.executionId)).toEqual({})
  await client.query('rollback')
})
