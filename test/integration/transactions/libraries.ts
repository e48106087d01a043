/** Each library whose transactions are accepted, behind one face: a transaction, SQL in it, and its end. */
import type { EnqueueOptions } from '@carillon/server'
import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle as drizzleOnPg } from 'drizzle-orm/node-postgres'
import { drizzle as drizzleOnPostgresJs } from 'drizzle-orm/postgres-js'
import createKnex from 'knex'
import { Kysely, sql as kyselySql, PostgresDialect } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'

export type Transaction = NonNullable<EnqueueOptions['tx']>

export type Work<T> = (tx: Transaction, run: (sql: string) => Promise<unknown>) => Promise<T>

export interface Caller {
  /** Commits when `work` resolves, rolls back when it rejects. */
  transaction<T>(work: Work<T>): Promise<T>
  /** A transaction (savepoint) in a transaction, which rejects; the outer one commits. */
  innerRollback?(work: Work<unknown>): Promise<void>
  close(): Promise<unknown>
}

const end = () => {}
const rejected = new Error('the inner transaction is rolled back')
const thenReject =
  <Tx>(work: (tx: Tx) => Promise<unknown>) =>
  async (tx: Tx) => {
    await work(tx)
    throw rejected
  }

async function onPg<T>(client: pg.ClientBase, work: Work<T>): Promise<T> {
  await client.query('begin')
  try {
    const done = await work(client, (text) => client.query(text))
    await client.query('commit')
    return done
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

function pgClient(connectionString: string): Caller {
  return {
    async transaction(work) {
      const client = new pg.Client({ connectionString })
      await client.connect()
      return await onPg(client, work).finally(() => client.end())
    },
    close: async () => {},
  }
}

function pgPoolClient(connectionString: string): Caller {
  const pool = new pg.Pool({ connectionString })
  return {
    async transaction(work) {
      const client = await pool.connect()
      return await onPg(client, work).finally(() => client.release())
    },
    close: () => pool.end(),
  }
}

function postgresJs(url: string): Caller {
  const sql = postgres(url, { onnotice: end, transform: postgres.pascal })
  const adapt =
    <T>(work: Work<T>) =>
    (tx: postgres.TransactionSql) =>
      work(tx, (text) => tx.unsafe(text))
  return {
    transaction: async <T>(work: Work<T>) => (await sql.begin(adapt(work))) as T,
    innerRollback: (work) =>
      sql.begin(async (tx) => void (await tx.savepoint(thenReject(adapt(work))).catch(end))).then(end),
    close: () => sql.end(),
  }
}

function drizzlePg(connectionString: string): Caller {
  const db = drizzleOnPg({ client: new pg.Pool({ connectionString }) })
  type Tx = Parameters<Parameters<typeof db.transaction>[0]>[0]
  const adapt =
    <T>(work: Work<T>) =>
    (tx: Tx) =>
      work(tx, (text) => tx.execute(drizzleSql.raw(text)))
  return {
    transaction: (work) => db.transaction(adapt(work)),
    innerRollback: (work) => db.transaction((tx) => tx.transaction(thenReject(adapt(work))).catch(end)),
    close: () => (db.$client as pg.Pool).end(),
  }
}

function drizzlePostgresJs(url: string): Caller {
  const db = drizzleOnPostgresJs({ client: postgres(url, { onnotice: end }) })
  type Tx = Parameters<Parameters<typeof db.transaction>[0]>[0]
  const adapt =
    <T>(work: Work<T>) =>
    (tx: Tx) =>
      work(tx, async (text) => await tx.execute(drizzleSql.raw(text)))
  return {
    transaction: (work) => db.transaction(adapt(work)),
    innerRollback: (work) => db.transaction((tx) => tx.transaction(thenReject(adapt(work))).catch(end)),
    close: () => db.$client.end(),
  }
}

function kysely(connectionString: string): Caller {
  const db = new Kysely<object>({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString }) }) })
  return {
    transaction: (work) =>
      db.transaction().execute((tx) => work(tx, async (text) => await kyselySql.raw(text).execute(tx))),
    close: () => db.destroy(),
  }
}

/** A transaction that is ended by hand instead of by the function's end. */
function kyselyControlled(connectionString: string): Caller {
  const db = new Kysely<object>({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString }) }) })
  return {
    async transaction(work) {
      const tx = await db.startTransaction().execute()
      try {
        const done = await work(tx, async (text) => await kyselySql.raw(text).execute(tx))
        await tx.commit().execute()
        return done
      } catch (error) {
        await tx.rollback().execute()
        throw error
      }
    },
    close: () => db.destroy(),
  }
}

function knex(connection: string): Caller {
  const db = createKnex({ client: 'pg', connection })
  const adapt =
    <T>(work: Work<T>) =>
    (tx: createKnex.Knex.Transaction) =>
      work(tx, async (text) => await tx.raw(text))
  return {
    transaction: (work) => db.transaction(adapt(work)),
    innerRollback: (work) => db.transaction((tx) => tx.transaction(thenReject(adapt(work))).catch(end)),
    close: () => db.destroy(),
  }
}

const libraries = {
  'a pg client': pgClient,
  'a client of a pg pool': pgPoolClient,
  'postgres.js': postgresJs,
  'Drizzle on pg': drizzlePg,
  'Drizzle on postgres.js': drizzlePostgresJs,
  Kysely: kysely,
  'Kysely, controlled': kyselyControlled,
  Knex: knex,
}

export type LibraryName = keyof typeof libraries

export const libraryNames = Object.keys(libraries) as LibraryName[]

export type Callers = Record<LibraryName, Caller>

export function openCallers(url: string): Callers {
  return Object.fromEntries(libraryNames.map((name) => [name, libraries[name](url)])) as Callers
}

export async function closeCallers(callers: Callers): Promise<void> {
  await Promise.all(Object.values(callers).map((caller) => caller.close()))
}
