/** A database that comes back without what it had committed, as after the promotion of a replica that was behind, does not go unnoticed. */
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { examine } from '../../packages/server/src/administration/index.ts'
import { type HttpNode, httpNode } from '../support/http-node.ts'
import { until } from '../support/until.ts'

let node: HttpNode
let admin: pg.Client
let name: string

beforeAll(async () => {
  node = await httpNode()
  name = new URL(node.databaseUrl).pathname.slice(1)
  const server = new URL(node.databaseUrl)
  server.pathname = '/postgres'
  admin = new pg.Client({ connectionString: server.href })
  await admin.connect()
})
afterAll(async () => {
  await admin.query(`drop database if exists ${name}_kept with (force)`)
  await admin.end()
  await node[Symbol.asyncDispose]()
})

/** While nobody is connected. */
async function alone(work: () => Promise<unknown>): Promise<void> {
  await admin.query(`alter database ${name} allow_connections false`)
  await admin.query('select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1', [name])
  await work()
  await admin.query(`alter database ${name} allow_connections true`)
}

/** Both tables of one moment; null while the database does not answer. */
async function query<Row>(text: string): Promise<Row | null> {
  const client = new pg.Client({ connectionString: node.databaseUrl })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query(text)).rows[0] ?? null
  } catch {
    return null
  } finally {
    await client.end().catch(() => {})
  }
}

const submit = async (count: number) => {
  for (let done = 0; done < count; ) {
    const { status } = await node.ask('POST /v1/jobs', { name: 'n', type: 'ONE_SHOT', target: { handler: 'h' } })
    if (status === 201) done++
  }
}

const verify = async (since: string) => (await node.ask(`GET /v1/verify?from=${since}`)).body

it('is found by the nodes that were there: when, and how many submissions', async () => {
  const since = new Date(Date.now() - 60_000).toISOString()
  await submit(5)
  const counted = `select sum(count)::int n from carillon.receipts`
  await until(async () => (await query<{ n: number }>(counted))?.n === 5, 60_000)
  const kept = `${name}_kept`
  await alone(() => admin.query(`create database ${kept} template ${name}`))
  await until(async () => (await node.ask('GET /readyz')).status === 200, 60_000)
  await submit(7)
  await until(async () => (await query<{ n: number }>(counted))?.n === 12, 60_000)
  expect(await verify(since)).toMatchObject({ lost: { submissions: 0, minutes: [], commits: [] } })

  await alone(async () => {
    await admin.query(`alter database ${name} rename to ${name}_lost`)
    await admin.query(`alter database ${kept} rename to ${name}`)
  })
  await admin.query(`drop database ${name}_lost with (force)`)
  await until(async () => (await query<{ n: number }>('select count(*)::int n from carillon.losses'))?.n === 1, 60_000)
  await until(async () => (await query<{ n: number }>(counted))?.n === 12, 60_000)
  const { lost, missed } = await verify(since)
  expect({ missed, submissions: lost.submissions, commits: lost.commits.length }).toEqual({
    ...{ missed: 0, submissions: 7, commits: 1 },
  })
  expect(Date.parse(lost.commits[0].after)).toBeLessThan(Date.parse(lost.commits[0].until))
  expect((await examine({ databaseUrl: node.databaseUrl })).find(({ check }) => check === 'commits')).toMatchObject({
    status: 'FAIL',
    hint: expect.stringContaining('carillon verify --from'),
  })
  const noted = await query<{ n: number }>(
    `select count(*)::int n from carillon.audit where action = 'database.commits_lost' and tenant is null`,
  )
  expect(noted?.n).toBe(1)
}, 240_000)
