/**
 * One bad row never stops the others, whichever batch it is in: it is set aside with its error, the rest goes on, operators see it
 * everywhere and have a way back. Passing trouble sets nothing aside, and a defect that fails for every row empties no queue.
 */
import { silentLogger } from '@carillon/contract/process'
import { createClient, createWorker, defineHandler, implementHandler } from '@carillon/sdk'
import { examine } from '@carillon/server/administration'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../packages/server/src/domain/identity.ts'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import type { Database } from '../../packages/server/src/store/database.ts'
import { Isolation } from '../../packages/server/src/store/quarantine/isolation.ts'
import { quickTimes } from '../support/carillon.ts'
import { type HttpNode, httpNode } from '../support/http-node.ts'
import { openStore } from '../support/store.ts'
import { until } from '../support/until.ts'

const work = defineHandler({ name: 'work' })
const wait = { waitMs: 20_000 }

let node: HttpNode
let client: ReturnType<typeof createClient>
let worker: ReturnType<typeof createWorker>
let sql: pg.Client

beforeAll(async () => {
  node = await httpNode({ engine: { ...quickTimes, sweepEveryMs: 500 } })
  client = createClient({ urls: node.url })
  worker = createWorker({
    urls: node.url,
    handlers: [implementHandler(work, () => 'done')],
    logger: silentLogger,
    drainSec: 1,
  })
  await worker.start()
  sql = new pg.Client(node.databaseUrl)
  await sql.connect()
})
afterAll(async () => {
  await sql.end()
  await worker.stop()
  await client.close()
  await node[Symbol.asyncDispose]()
})

/** Behind what has been leased: before it, work that nobody gave a hint of is found once a minute. */
let tag = 1e12
const nextTag = () => (tag += 1e9)

interface Quarantined {
  quarantineId: number
  source: string
  code: string
  executionId: string | null
}

const quarantined = async (about: string): Promise<Quarantined[]> =>
  (await node.ask(`GET /v1/quarantine?about=${about}`)).body.items

/** The row is set aside, and what others submit meanwhile succeeds. */
async function setAside(about: string, withinMs = 15_000): Promise<Quarantined> {
  const handle = await client.enqueue(work, {})
  await until(async () => (await quarantined(about)).length > 0, withinMs)
  expect(await handle.result(wait)).toBe('done')
  return (await quarantined(about))[0]!
}

/** An execution in the ledger that stands in no queue. */
async function ledgerRow(columns: Record<string, unknown> = {}): Promise<string> {
  const id = newId(Date.now())
  const row = {
    ...{ execution_id: id, job_id: id, tenant: 'default', pool: 'default', lane: 2, handler: 'work', tag: 1 },
    ...{
      origin: 'SUBMIT',
      guarded: false,
      scheduled_for: 'now',
      due_at: 'now',
      fired_at: 'now',
      attempt: 0,
      releases: 0,
    },
    ...columns,
  }
  await sql.query(
    'insert into carillon.executions select * from jsonb_populate_record(null::carillon.executions, $1)',
    [row],
  )
  return id
}

describe('a bad row', () => {
  it('in submissions: no partition takes its id', async () => {
    const id = 'ffffffff-ffff-4fff-8fff-ffffffffffff'
    await sql.query(
      `insert into carillon.submissions (execution_id, shard, tenant, pool, lane, handler, run_at)
       values ($1, 5, 'default', 'default', 2, 'work', now())`,
      [id],
    )
    expect(await setAside(id)).toMatchObject({ source: 'submissions', code: 'NO_PARTITION' })
  })

  it('in submissions: a key too long for its index, an id that is taken', async () => {
    const { rows } = await sql.query(
      `insert into carillon.submissions (execution_id, shard, tenant, pool, lane, handler, run_at, policy)
       select i::uuid, 5, case when n = 1 then (select string_agg(md5(k::text), '') from generate_series(1, 300) k) else 'default' end,
         'default', 2, 'work', now(), null
       from unnest($1::text[]) with ordinality u(i, n) returning execution_id id`,
      [[newId(Date.now()), await ledgerRow({ state: 'SUCCEEDED', finished_at: 'now' })]],
    )
    const codes: string[] = []
    for (const { id } of rows) codes.push((await setAside(id)).code)
    expect(codes).toEqual(['54000', 'DUPLICATE_ID'])
  })

  it('in ready: a policy that LEASE cannot read, one that runs already, one that is not in the ledger', async () => {
    const tag = nextTag()
    const bad = await ledgerRow({ tag, policy: { timeoutSec: 'long' } })
    const runs = await ledgerRow({ tag })
    const orphan = newId(Date.now())
    await sql.query(
      `insert into carillon.leases (lease_id, worker_id, pool, lane, tag_low, tag_high, leased_at, overdue_at, grace_sec, began, open, ids)
       select 9007199, '00000000-0000-0000-0000-000000000001', pool, lane, tag, tag, now(), now() + interval '1 hour', 5, true, 1, array[$1::uuid]
       from carillon.executions where execution_id = $1`,
      [runs],
    )
    await sql.query(`insert into carillon.ready select 'default', 2, $2, unnest($1::uuid[])`, [
      [bad, runs, orphan],
      tag,
    ])
    const found = await Promise.all([bad, runs, orphan].map((id) => setAside(id)))
    expect(found.map(({ source, code }) => [source, code])).toEqual([
      ['ready', 'POLICY'],
      ['ready', 'RUNS_ALREADY'],
      ['ready', 'NO_LEDGER_ROW'],
    ])
    await sql.query('delete from carillon.leases where lease_id = 9007199')
  })

  it('in retries, leases and waiting: not in the ledger', { timeout: 150_000 }, async () => {
    const [retry, run, waits] = [newId(Date.now()), newId(Date.now()), newId(Date.now())] as const
    await sql.query(`insert into carillon.retries values ($1, 3, now(), 'default', 'default', 2, 'FAILED')`, [retry])
    await sql.query(
      `insert into carillon.leases (lease_id, worker_id, pool, lane, tag_low, tag_high, leased_at, overdue_at, grace_sec, began, open, ids)
       values (9007200, gen_random_uuid(), 'default', 2, 1, 1, now() - interval '1 hour', now() - interval '1 hour', 5, true, 1, array[$1::uuid])`,
      [run],
    )
    await sql.query(`insert into carillon.waiting values ($1, $2)`, [waits, `job:${waits}`])
    expect(await setAside(retry)).toMatchObject({ source: 'retries', code: 'NO_LEDGER_ROW' })
    // On a busy machine the sweeper looks seldom; the inspector comes every ten seconds.
    expect(await setAside(run, 60_000)).toMatchObject({ source: 'leases', code: 'NO_LEDGER_ROW' })
    expect(await setAside(waits, 60_000)).toMatchObject({ source: 'waiting', code: 'NO_LEDGER_ROW' })
  })

  it('in schedules: its job cannot be planned. The job is paused, and resumed when it is put right', async () => {
    const { body: job } = await node.ask('POST /v1/jobs', {
      ...{ type: 'CRON', schedule: '0 3 1 1 *', target: { handler: 'work' } },
    })
    await sql.query(`update carillon.jobs set cron = 'nonsense' where job_id = $1`, [job.jobId])
    await sql.query('update carillon.schedules set due = now() where job_id = $1', [job.jobId])
    const { quarantineId, source } = await setAside(job.jobId)
    expect(source).toBe('schedules')
    expect((await node.ask(`GET /v1/jobs/${job.jobId}`)).body.state).toBe('PAUSED')
    await sql.query(`update carillon.jobs set cron = '0 3 1 1 *' where job_id = $1`, [job.jobId])
    expect(await node.ask(`POST /v1/quarantine/${quarantineId}/release`)).toMatchObject({ status: 200 })
    expect((await node.ask(`GET /v1/jobs/${job.jobId}`)).body.state).toBe('ACTIVE')
    expect(await quarantined(job.jobId)).toEqual([])
  })

  it('in operations: ends as FAILED and is named', async () => {
    const id = newId(Date.now())
    await sql.query(
      `insert into carillon.operations (operation_id, tenant, kind, params, created_by) values ($1, 'default', 'CANCEL', '{}', 'hand')`,
      [id],
    )
    expect(await setAside(id)).toMatchObject({ source: 'operations' })
    expect((await node.ask(`GET /v1/operations/${id}`)).body.state).toBe('FAILED')
  })

  it('that could never be right is refused where it is written', async () => {
    const tries = [
      `insert into carillon.ready values ('default', 9, 1, gen_random_uuid())`,
      `insert into carillon.ready values ('default', 2, 9223372036854775807, gen_random_uuid())`,
      `insert into carillon.retries values (gen_random_uuid(), 3, 'infinity', 't', 'default', 2, 'FAILED')`,
      `insert into carillon.retries values (gen_random_uuid(), 999, now(), 't', 'default', 2, 'FAILED')`,
      `insert into carillon.waiting values (gen_random_uuid(), 'job:nonsense')`,
      `insert into carillon.deadlines values (gen_random_uuid(), 'START', '294276-01-01')`,
      `insert into carillon.submissions (execution_id, shard, tenant, pool, lane, handler, run_at, policy)
       values (gen_random_uuid(), 1, 't', 'default', 2, 'h', now(), '{"deadlineSec": "soon"}')`,
    ]
    for (const statement of tries)
      await expect(sql.query(statement), statement).rejects.toMatchObject({ code: '23514' })
  })
})

describe('an operator', () => {
  async function badReady(): Promise<{ id: string; entry: Quarantined }> {
    const tag = nextTag()
    const id = await ledgerRow({ tag, policy: { cancelGraceSec: 'x' } })
    await sql.query(`insert into carillon.ready values ('default', 2, $2, $1)`, [id, tag])
    return { id, entry: await setAside(id) }
  }

  it('is told by explain, readyz, metrics, the doctor and the list', async () => {
    const { id, entry } = await badReady()
    const explained = (await node.ask(`GET /v1/executions/${id}/explain`)).body
    expect(explained).toMatchObject({ state: 'PENDING', reasons: [{ code: 'QUARANTINED' }] })
    expect(explained.summary).toContain(`carillon quarantine release ${entry.quarantineId}`)
    const ready = await node.ask('GET /readyz')
    expect(ready).toMatchObject({ status: 200, body: { status: 'ok' } })
    expect(ready.body.checks.quarantine).toMatch(/^\d+ rows? quarantined/)
    const quarantinedRows = /^carillon_quarantined_rows\{source="ready"\} [1-9]/m
    await until(async () => quarantinedRows.test((await node.ask('GET /metrics')).body))
    const metrics = (await node.ask('GET /metrics')).body
    expect(metrics).toMatch(/^carillon_set_aside_total\{source="ready"\} [1-9]/m)
    const findings = (await examine({ databaseUrl: node.databaseUrl })).filter(({ check }) => check === 'quarantine')
    expect(findings[0]!.status).toBe('FAIL')
    expect(findings.some(({ message }) => message.startsWith('ready: ') && message.includes('POLICY'))).toBe(true)
  })

  it('releases it when the cause is mended: it runs', async () => {
    const { id, entry } = await badReady()
    await sql.query('update carillon.executions set policy = null where execution_id = $1', [id])
    expect(await node.ask(`POST /v1/quarantine/${entry.quarantineId}/release`)).toMatchObject({ status: 200 })
    await until(async () => (await node.ask(`GET /v1/executions/${id}`)).body.state === 'SUCCEEDED')
    expect(await quarantined(id)).toEqual([])
    expect((await node.ask(`POST /v1/quarantine/${entry.quarantineId}/release`)).body.code).toBe(
      'QUARANTINED_NOT_FOUND',
    )
  })

  it('discards it: the execution ends as DEAD, and can be replayed like any other', async () => {
    const { id, entry } = await badReady()
    expect(await node.ask(`POST /v1/quarantine/${entry.quarantineId}/discard`)).toMatchObject({ status: 200 })
    const ended = (await node.ask(`GET /v1/executions/${id}`)).body
    expect(ended).toMatchObject({ state: 'DEAD', reason: 'QUARANTINED' })
    expect(await quarantined(id)).toEqual([])
  })

  it('cancels it like anything that has not started', async () => {
    const { id } = await badReady()
    await node.ask(`POST /v1/executions/${id}/cancel`, {})
    expect((await node.ask(`GET /v1/executions/${id}`)).body.state).toBe('CANCELLED')
    expect(await quarantined(id)).toEqual([])
  })

  it('discards a submission that was never in the ledger: it is there as DEAD', async () => {
    const id = newId(Date.now())
    await sql.query(
      `insert into carillon.submissions (execution_id, shard, tenant, pool, lane, handler, run_at)
       select $1, 5, 'default', string_agg(md5(k::text), ''), 2, 'work', now() from generate_series(1, 300) k`,
      [id],
    )
    const { quarantineId } = await setAside(id)
    expect((await node.ask(`GET /v1/executions/${id}/explain`)).body.reasons[0].code).toBe('QUARANTINED')
    await node.ask(`POST /v1/quarantine/${quarantineId}/discard`)
    expect((await node.ask(`GET /v1/executions/${id}`)).body).toMatchObject({ state: 'DEAD', reason: 'QUARANTINED' })
  })
})

describe('what is not a row’s fault', () => {
  const key = (id: string) => ({ source: 'submissions' as const, key: { execution_id: id } })
  const coded = (code: string) => Object.assign(new Error('words'), { code, constraint: 'some' })

  function isolation(database: Database): Isolation {
    return new Isolation({ database, logger: createLogger('silent') })
  }

  it('sets nothing aside: passing trouble, a statement that does not fit the schema, missing partitions', async () => {
    await using store = await openStore()
    const count = async () =>
      (await store.database.query<{ n: number }>(null, 'select count(*) n from carillon.quarantine'))[0]!.n
    const ids = Array.from({ length: 8 }, () => newId(Date.now()))
    for (const code of ['40001', '57014', '53300', '08006', 'ECONNRESET', '42703']) {
      const { stoppedBy, left } = await isolation(store.database).run(
        'test',
        ids,
        () => Promise.reject(coded(code)),
        key,
      )
      expect([code, stoppedBy !== null, left.length]).toEqual([code, true, 8])
    }
    await store.database.query(
      null,
      `insert into carillon.submissions (execution_id, shard, tenant, pool, lane, handler, run_at)
       select i, 0, 't', 'default', 2, 'h', now() from unnest($1::uuid[]) i`,
      [ids],
    )
    const noPartition = Object.assign(new Error('no partition'), { code: '23514' })
    const spared = await isolation(store.database).run('test', ids, () => Promise.reject(noPartition), key)
    expect([spared.left.length, spared.bad.length, spared.stoppedBy]).toEqual([8, 0, { error: noPartition }])
    expect(await count()).toBe(0)
  })

  it('a call that fails for every row is suspected: it sets few aside and stops, until a row passes', async () => {
    await using store = await openStore()
    const ids = Array.from({ length: 400 }, () => newId(Date.now()))
    await store.database.query(
      null,
      `insert into carillon.submissions (execution_id, shard, tenant, pool, lane, handler, run_at)
       select i, 0, 't', 'default', 2, 'h', now() from unnest($1::uuid[]) i`,
      [ids],
    )
    const isolated = isolation(store.database)
    const first = await isolated.run('test', ids, () => Promise.reject(coded('22P02')), key)
    expect([first.bad.length, first.left.length, first.stoppedBy !== null]).toEqual([120, 280, true])
    const second = await isolated.run('test', first.left, () => Promise.reject(coded('22P02')), key)
    expect([second.bad.length, second.left.length]).toEqual([20, 260])
    // One that passes says that the call works: the others are bad by themselves.
    const good = second.left.at(-1)!
    const work = async (part: string[]) => (part.every((id) => id === good) ? null : Promise.reject(coded('22P02')))
    await isolated.run('test', [good], work, key)
    const third = await isolated.run('test', second.left.slice(0, 100), work, key)
    expect(third).toMatchObject({ left: [], stoppedBy: null })
  })
})
