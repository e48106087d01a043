/** Events come in one order, whatever order they are committed in, and nobody's open transaction holds them up for nothing. */
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'
import { Tail } from './tail.ts'

let on: HttpNode
let sql: pg.Pool
const open: pg.PoolClient[] = []

beforeAll(async () => {
  on = await httpNode()
  sql = new pg.Pool({ connectionString: on.databaseUrl, max: 10 })
})
afterEach(() => {
  for (const client of open.splice(0)) client.release(true)
})
afterAll(async () => {
  await sql?.end()
  await on?.[Symbol.asyncDispose]()
})

/** A transaction that stays open until the test ends it. */
async function transaction(): Promise<pg.PoolClient> {
  const client = await sql.connect()
  open.push(client)
  await client.query('begin')
  return client
}

async function write(by: pg.PoolClient | pg.Pool): Promise<number> {
  const { rows } = await by.query(
    `insert into carillon.events (at, tenant, type, job_id, detail)
     values (clock_timestamp(), 'default', 'job.updated', gen_random_uuid(), '{}') returning event_id`,
  )
  return Number(rows[0].event_id)
}

/** The node has looked, after now, who is about to write. */
async function looked(): Promise<void> {
  const { rows: now } = await sql.query('select clock_timestamp() at')
  await until(async () => {
    const { rows } = await sql.query(
      `select from pg_stat_activity where query like '%carillon.event_writers%' and pid <> pg_backend_pid()
       and query_start > $1`,
      [now[0].at],
    )
    return rows.length > 0
  })
}

describe('an event that is committed late', () => {
  it('comes before those with a larger id, which wait for it', async () => {
    await using tail = await Tail.open(on.url)
    const before = await write(sql)
    // A feed that has not looked yet would wait for the slow one first.
    await tail.until((t) => t.ids.includes(before))
    const slow = await transaction()
    const held = await write(slow)
    const quick = await write(sql)
    await looked()
    expect(tail.ids).toEqual([before])
    await slow.query('commit')
    await tail.until((t) => t.ids.length === 3)
    expect(tail.ids).toEqual([before, held, quick])
  })

  it('is not waited for once it is rolled back', async () => {
    await using tail = await Tail.open(on.url)
    const slow = await transaction()
    await write(slow)
    const quick = await write(sql)
    await looked()
    expect(tail.ids).toEqual([])
    await slow.query('rollback')
    await tail.until((t) => t.ids.length === 1)
    expect(tail.ids).toEqual([quick])
  })

  it('may be one of many, in any order', async () => {
    await using tail = await Tail.open(on.url)
    const expected: number[] = []
    await Promise.all(
      Array.from({ length: 6 }, async (_, n) => {
        const client = await sql.connect()
        for (let i = 0; i < 30; i++) {
          await client.query('begin')
          const ids = [await write(client), await write(client)]
          const keep = (i + n) % 5 > 0
          await client.query(keep ? 'commit' : 'rollback')
          if (keep) expected.push(...ids)
        }
        client.release()
      }),
    )
    await tail.until((t) => t.ids.length >= expected.length)
    expect(tail.ids).toEqual(expected.sort((a, b) => a - b))
  })
})

describe('a transaction of a caller', () => {
  it('that enqueues and stays open delays no event and no listener', async () => {
    const caller = await transaction()
    const { rows } = await caller.query(`select carillon.enqueue('h') id`)
    await using tail = await Tail.open(on.url, '', { 'carillon-tenant': 'newcomer' })
    const target = { handler: 'h' }
    const { body } = await on.ask('POST /v1/jobs', { type: 'ONE_SHOT', target }, { 'carillon-tenant': 'newcomer' })
    await tail.until((t) => t.of(body.jobId).length > 0)
    await using of = await Tail.open(on.url)
    await caller.query('commit')
    await of.until((t) => t.of(rows[0].id).length > 0)
  })

  it('that completes its execution and stays open delays none either', async () => {
    const pools = [{ pool: 'p', handlers: ['h'], slots: 1 }]
    const { body: worker } = await on.ask('POST /v1/workers', { name: 'w', pools })
    await on.ask('POST /v1/jobs', { type: 'ONE_SHOT', target: { pool: 'p', handler: 'h' } })
    const { body: leased } = await on.ask(`POST /v1/workers/${worker.workerId}/lease`, { pool: 'p', slots: 1 })
    const [{ executionId, fence }] = leased.executions
    const caller = await transaction()
    await caller.query('select carillon.complete_in($1, $2, null)', [executionId, fence])
    await using tail = await Tail.open(on.url, '', { 'carillon-tenant': 'another' })
    const job = { type: 'ONE_SHOT', target: { handler: 'h' } }
    const { body } = await on.ask('POST /v1/jobs', job, { 'carillon-tenant': 'another' })
    await tail.until((t) => t.of(body.jobId).length > 0)
  })
})

describe('a change that is under way when somebody begins to listen', () => {
  it('is over when the stream begins: what is read then is not older than what is told', async () => {
    const under = await transaction()
    const { rows } = await under.query(
      `select carillon.submit(array[i], array['early'], array['n'], array['default'], array[2::smallint], array['h'],
         array[1::bigint], array[carillon.ms(now())], array['null'], array[null::jsonb], array[null::jsonb], array['t'],
         array[null::text]), i id
       from (select (lpad(to_hex(carillon.ms(now())), 12, '0') || '8' || substr(replace(gen_random_uuid()::text, '-', ''), 14, 19))::uuid i) x`,
    )
    let opened = false
    const opening = Tail.open(on.url, '', { 'carillon-tenant': 'early' }).then((tail) => {
      opened = true
      return tail
    })
    await looked()
    await looked()
    expect(opened).toBe(false)
    await under.query('commit')
    await using tail = await opening
    const { status } = await on.ask(`GET /v1/executions/${rows[0].id}`, undefined, { 'carillon-tenant': 'early' })
    expect({ status, told: tail.of(rows[0].id) }).toEqual({ status: 200, told: [] })
    const { body } = await on.ask(`POST /v1/executions/${rows[0].id}/cancel`, undefined, { 'carillon-tenant': 'early' })
    expect(body.outcome).toBe('CANCELLED')
    await tail.until((t) => t.of(rows[0].id).length === 1)
  })
})
