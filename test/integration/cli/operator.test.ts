/** What an operator does with the database itself: migrate, tokens, doctor. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { createDatabase } from '../../support/postgres.ts'
import { carillon } from './cli.ts'

let node: HttpNode
const at = () => ({ env: { DATABASE_URL: node.databaseUrl } })

beforeAll(async () => {
  node = await httpNode({ auth: {} })
})
afterAll(() => node[Symbol.asyncDispose]())

describe('migrate', () => {
  it('brings an empty database up, and says when there is nothing to do', async () => {
    const database = await createDatabase()
    try {
      const env = { DATABASE_URL: database.url }
      const first = await carillon(['migrate', '--json'], { env })
      expect(first.json()).toMatchObject([{ from: null, to: expect.any(Number) }])
      expect((await carillon(['migrate'], { env })).stdout).toMatch(/^Nothing to do: version \d+\.\n$/)
    } finally {
      await database.drop()
    }
  })

  it('prints SQL that an empty database takes', async () => {
    const { stdout } = await carillon(['migrate', '--sql'])
    const database = await createDatabase()
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query(stdout)
    const { rows } = await client.query('select count(*)::int n from carillon.migrations')
    expect(rows[0].n).toBeGreaterThan(0)
    await client.end()
    await database.drop()
  })
})

describe('tokens', () => {
  it('one that was made is accepted until it is revoked', async () => {
    const closed = await carillon(['jobs', 'list', '--url', node.url])
    expect(closed).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('UNAUTHENTICATED') })
    const made = await carillon(['tokens', 'create', 'ci', '--tenant', 'a', '--scopes', 'jobs:read', '--json'], at())
    const [{ key, keyId }] = made.json()
    const open = await carillon(['jobs', 'list', '--url', node.url], { env: { CARILLON_TOKEN: key } })
    expect(open.exitCode).toBe(0)
    const list = await carillon(['tokens', 'list'], at())
    expect(list.stdout).toMatch(new RegExp(`${keyId} +ci +a +jobs:read +valid`))
    expect(list.stdout).not.toContain(key)
    expect(await carillon(['tokens', 'revoke', keyId], at())).toMatchObject({ exitCode: 0 })
  })
})

describe('doctor', () => {
  it('finds nothing to mend in a healthy installation', async () => {
    const { exitCode, stdout } = await carillon(['doctor'], at())
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('0 to fix') })
    expect(stdout).toMatch(/OK +nodes +1 alive/)
    const tz = process.versions.tz
    expect(stdout).toMatch(
      new RegExp(`OK +time zones +tz database ${tz} here and in the nodes; PostgreSQL 20\\d\\d[a-z] or`),
    )
  })

  it('says that the nodes have another tz database', async () => {
    const client = new pg.Client({ connectionString: node.databaseUrl })
    await client.connect()
    await client.query(`update carillon.installation set tz_version = '2020a'`)
    const { stdout } = await carillon(['doctor'], at())
    await client.query('update carillon.installation set tz_version = $1', [process.versions.tz])
    await client.end()
    expect(stdout).toMatch(/WARN +time zones +tz database \S+ here, 2020a in the nodes/)
    expect(stdout).toContain('ICU_TIMEZONE_FILES_DIR')
  })

  it('says that there is no schema', async () => {
    const database = await createDatabase()
    const { exitCode, stdout } = await carillon(['doctor', '--json', '--database-url', database.url])
    expect(exitCode).toBe(1)
    expect(stdout).toContain('carillon migrate')
    await database.drop()
  })

  it('finds a sick one’s illnesses and says what to do', async () => {
    const sick = await httpNode()
    await sick.ask('POST /v1/jobs', { type: 'ONE_SHOT', target: { handler: 'x' } })
    await sick.ask('POST /v1/jobs', { type: 'INTERVAL', interval: 'PT1H', target: { handler: 'x' } })
    await sick.node.stop()
    const client = new pg.Client({ connectionString: sick.databaseUrl, application_name: 'somebody' })
    await client.connect()
    await client.query(
      `update carillon.schedules set due = clock_timestamp() - interval '1 hour' where due is not null`,
    )
    await client.query(`insert into carillon.workers (worker_id, node_id, name, pools, seen_at)
      values (gen_random_uuid(), gen_random_uuid(), 'ghost', '[]', clock_timestamp() - interval '1 hour')`)
    const { rows } = await client.query<{ name: string }>(
      `select relname name from pg_class where relname ~ '^executions_p[0-9]+$' order by relname desc limit 3`,
    )
    for (const { name } of rows) await client.query(`alter table carillon.executions detach partition carillon.${name}`)
    const { exitCode, stdout, json } = await carillon(['doctor', '--json'], { env: { DATABASE_URL: sick.databaseUrl } })
    await client.end()
    await sick[Symbol.asyncDispose]()
    expect(exitCode, stdout).toBe(1)
    const found = Object.fromEntries(json().map((finding) => [finding.check, finding]))
    expect(found.nodes).toMatchObject({ status: 'FAIL', hint: expect.stringContaining('carillon serve') })
    expect(found.partitions.status).toMatch(/WARN|FAIL/)
    expect(found['overdue jobs']).toMatchObject({ status: 'WARN' })
    expect(found.workers).toMatchObject({ status: 'WARN', message: expect.stringContaining('ghost') })
    expect(found.pools).toMatchObject({ status: 'FAIL', message: expect.stringContaining('default') })
  })
})
