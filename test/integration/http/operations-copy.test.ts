/** Copies: a time range submitted again into a staging pool, as executions of their own. */
import { type Carillon, createCarillon, defineHandler } from '@carillon/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { timeOf } from '../../../packages/server/src/domain/identity.ts'
import { quickTimes } from '../../support/carillon.ts'
import { fitsContract } from '../../support/contract-check.ts'
import { until } from '../../support/until.ts'
import { type Seed, type WorkedNode, workedNode } from './worked-node.ts'

let node: WorkedNode
let staging: Carillon
const ran: { executionId: string; payload: unknown; labels: unknown }[] = []
const began = new Date(Date.now() - 60_000).toISOString()

beforeAll(async () => {
  node = await workedNode()
  staging = await createCarillon({ databaseUrl: node.databaseUrl, logLevel: 'fatal', ...quickTimes })
  staging.handle(defineHandler({ name: 'act', pool: 'staging' }), { concurrency: 20 }, async (ctx) => {
    ran.push({ executionId: ctx.executionId, payload: ctx.payload, labels: ctx.labels })
  })
  await staging.start()
  await node.sql.query(`insert into carillon.pools (pool) values ('idle')`)
})
afterAll(async () => {
  await staging.stop({ drainSec: 1 })
  await node[Symbol.asyncDispose]()
})

/** A second ago: what is created in the moment of the request may be left out. */
const seed = (count: number, columns: Partial<Seed>) => node.seed(count, { at: Date.now() - 1_000, ...columns })

const as = (tenant: string) => ({ 'carillon-tenant': tenant })

async function ask(tenant: string, body: object) {
  const answer = await node.ask('POST /v1/executions/copy', { filter: {}, pool: 'staging', ...body }, as(tenant))
  if (answer.status < 300) fitsContract('copyExecutions', answer)
  return answer
}

const read = async (operationId: string, tenant: string) => {
  const answer = await node.ask(`GET /v1/operations/${operationId}`, undefined, as(tenant))
  fitsContract('getOperation', answer)
  return answer.body
}

/** Asks for copies and waits until the operation is over. */
async function copy(tenant: string, body: object = {}) {
  const { status, body: begun } = await ask(tenant, body)
  expect(status, JSON.stringify(begun)).toBe(202)
  await until(async () => (await read(begun.operationId, tenant)).state !== 'RUNNING')
  return read(begun.operationId, tenant)
}

/** Rows of the ledger, of copies or of all others. */
async function rows(tenant: string, which: 'copies' | 'originals') {
  const { rows } = await node.sql.query(
    `select to_jsonb(e) || jsonb_build_object('xmin', e.xmin::text) row from carillon.executions e
     where e.tenant = $1 and coalesce(e.labels ? 'copiedFrom', false) = $2 order by e.tag, e.execution_id`,
    [tenant, which === 'copies'],
  )
  return rows.map(({ row }) => row)
}

describe('copies of executions', () => {
  it('of a range that a filter selects run in the other pool, and the originals are as they were', async () => {
    const tenant = 'range'
    const submit = (value: number, more: object = {}) => node.submit({ how: 'answer', value }, more, as(tenant))
    await submit(0)
    await submit(1, { labels: { team: 'other' } })
    const chosen: string[] = []
    for (const value of [2, 3, 4]) chosen.push(await submit(value, { labels: { team: 'x' }, priority: 'HIGH' }))
    const ended = async () => (await rows(tenant, 'originals')).filter(({ state }) => state === 'SUCCEEDED').length
    await until(async () => (await ended()) === 5)
    const before = await rows(tenant, 'originals')

    const filter = { from: new Date(timeOf(chosen[0]!)).toISOString(), labels: { team: 'x' }, state: 'SUCCEEDED' }
    expect((await ask(tenant, { filter, dryRun: true })).body).toEqual({ count: 3, exact: true })
    expect(await rows(tenant, 'copies')).toEqual([])
    const operation = await copy(tenant, { filter })
    expect(operation).toMatchObject({ kind: 'COPY', state: 'SUCCEEDED', total: 3, done: 3, skipped: 0, error: null })
    await until(async () => (await rows(tenant, 'copies')).every(({ state }) => state === 'SUCCEEDED'))

    const copies = await rows(tenant, 'copies')
    expect(copies.map(({ labels }) => labels)).toEqual(chosen.map((id) => ({ team: 'x', copiedFrom: id })))
    for (const each of copies) {
      expect(each).toMatchObject({ origin: 'SUBMIT', pool: 'staging', handler: 'act', lane: 1, name: 'n', attempt: 1 })
      expect(each.job_id).toBe(each.execution_id)
    }
    const inStaging = ran.filter(({ executionId }) => copies.some((each) => each.execution_id === executionId))
    expect(inStaging.map(({ payload }) => payload)).toEqual(
      expect.arrayContaining([2, 3, 4].map((value) => ({ how: 'answer', value }))),
    )
    expect(inStaging[0]!.labels).toMatchObject({ team: 'x', copiedFrom: expect.any(String) })
    expect(await rows(tenant, 'originals')).toEqual(before)

    const listed = await node.ask(`GET /v1/executions?label=copiedFrom:${chosen[0]}`, undefined, as(tenant))
    expect(listed.body.items).toMatchObject([{ pool: 'staging', priority: 'HIGH', origin: 'SUBMIT' }])
    const asJob = await node.ask(`GET /v1/jobs/${copies[0].execution_id}`, undefined, as(tenant))
    expect(asJob.body).toMatchObject({
      type: 'ONE_SHOT',
      target: { pool: 'staging', handler: 'act' },
      priority: 'HIGH',
    })
    const { rows: audit } = await node.sql.query(
      `select action, actor, detail ->> 'kind' kind, detail #>> '{params,pool}' pool from carillon.audit
       where tenant = $1 and subject = $2`,
      [tenant, operation.operationId],
    )
    expect(audit).toEqual([{ action: 'operation.created', actor: 'anonymous', kind: 'COPY', pool: 'staging' }])
  })

  it('run what the original ran, though its job has changed, and without its start window, overlap and trace', async () => {
    const tenant = 'versions'
    const job = {
      ...{ key: 'nightly', type: 'CRON', schedule: '0 4 1 1 *', target: { handler: 'act' }, overlap: 'FORBID' },
      ...{ payload: { how: 'answer', value: 'old' }, timeoutSec: 77, deadlineSec: 600, startWithinSec: 60 },
      ...{ pauseAfterFailures: 3, labels: { a: 'b' } },
    }
    const { jobId } = (await node.ask('POST /v1/jobs', job, as(tenant))).body
    const triggered = await node.ask(`POST /v1/jobs/${jobId}/trigger`, {}, as(tenant))
    expect(triggered.status, JSON.stringify(triggered.body)).toBeLessThan(300)
    await until(async () => (await rows(tenant, 'originals')).every(({ state }) => state === 'SUCCEEDED'))
    const changed = { payload: { how: 'throw' }, timeoutSec: 5, deadlineSec: 5 }
    expect((await node.ask(`PATCH /v1/jobs/${jobId}`, changed, as(tenant))).status).toBe(200)
    expect(await copy(tenant, { filter: { key: 'nightly' } })).toMatchObject({ done: 1, skipped: 0 })
    await until(async () => (await rows(tenant, 'copies')).every(({ state }) => state === 'SUCCEEDED'))
    const [made] = await rows(tenant, 'copies')
    expect(made).toMatchObject({ name: 'nightly', payload: '{"how":"answer","value":"old"}', guarded: false })
    expect(made.policy).toEqual({ timeoutSec: 77, deadlineSec: 600 })
    expect(made).toMatchObject({ expires_at: null, traceparent: null, job_version: null, history: null })
    expect(Date.parse(made.deadline_at) - Date.parse(made.due_at)).toBe(600_000)
  })

  it('are what their originals were, whatever state those are in; copies can be copied', async () => {
    const tenant = 'states'
    await seed(4, { tenant, state: 'DEAD', pool: 'idle' })
    await seed(3, { tenant, state: 'CANCELLED', pool: 'idle' })
    await node.submit({}, { target: { handler: 'act', pool: 'idle' } }, as(tenant))
    expect(await copy(tenant, { filter: { state: 'DEAD', error: 'TypeError' }, pool: 'idle' })).toMatchObject({
      done: 4,
    })
    const first = await rows(tenant, 'copies')
    expect(await copy(tenant, { filter: { labels: first[0].labels }, pool: 'idle' })).toMatchObject({ done: 1 })
    const copies = await rows(tenant, 'copies')
    expect(copies.at(-1).labels).toEqual({ copiedFrom: first[0].execution_id })
    // Everything so far: seven that have ended, one that waits, five copies.
    expect(await copy(tenant, { filter: {}, pool: 'idle' })).toMatchObject({ total: 13, done: 13, skipped: 0 })
    expect(await copy(tenant, { filter: { state: 'PENDING', pool: 'idle' } })).toMatchObject({ done: 19 })
  })

  it('leave alone what nodes run by themselves', async () => {
    const tenant = 'builtIn'
    await seed(2, { tenant, state: 'SUCCEEDED', handler: 'carillon.http', pool: 'carillon.http' })
    await seed(1, { tenant, state: 'SUCCEEDED', handler: 'carillon.shell', pool: 'carillon.shell' })
    expect(await copy(tenant)).toMatchObject({ state: 'SUCCEEDED', total: 3, done: 0, skipped: 3 })
    await seed(1, { tenant, state: 'SUCCEEDED' })
    expect(await copy(tenant)).toMatchObject({ state: 'SUCCEEDED', total: 4, done: 1, skipped: 3 })
    expect(await rows(tenant, 'copies')).toMatchObject([{ handler: 'act', pool: 'staging' }])
  })

  it('keep every label of the original: with 16 there is no room for one more', async () => {
    const tenant = 'labels'
    const labels = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`l${i}`, 'x']))
    await seed(1, { tenant, state: 'SUCCEEDED', labels })
    expect(await copy(tenant)).toMatchObject({ done: 1 })
    const all = await rows(tenant, 'originals')
    expect(all.map((row) => [row.pool, row.labels])).toEqual(
      expect.arrayContaining([
        ['default', labels],
        ['staging', labels],
      ]),
    )
  })

  it('go to the pool of the tenant, else to the one of the installation; one that does not exist is refused', async () => {
    const tenant = 'own'
    await seed(1, { tenant, state: 'SUCCEEDED' })
    expect((await ask(tenant, { pool: 'stagin', dryRun: true })).body).toMatchObject({
      ...{ code: 'POOL_UNKNOWN', status: 422 },
      errors: [{ pointer: '/pool', hint: 'Did you mean staging?' }],
    })
    expect((await ask(tenant, { pool: 'carillon.http' })).body.errors[0]).toMatchObject({ pointer: '/pool' })
    expect((await ask(tenant, { pool: undefined })).body.errors[0]).toMatchObject({ pointer: '/pool' })
    expect((await ask(tenant, { filter: { state: 'SKIPPED' } })).body.errors[0].pointer).toBe('/filter/state')
    expect(await rows(tenant, 'copies')).toEqual([])
    const claimed = `select carillon.claim_pools($1, array['mine'], 'test', 10) #>> '{keys,mine}' pool`
    const { rows: own } = await node.sql.query(claimed, [tenant])
    expect(await copy(tenant, { pool: 'mine' })).toMatchObject({ done: 1 })
    expect((await rows(tenant, 'copies')).map(({ pool }) => pool)).toEqual([own[0].pool])
    expect((await ask('another', { pool: 'mine' })).body.code).toBe('POOL_UNKNOWN')
  })

  it('stop with an error if the pool goes', async () => {
    const tenant = 'gone'
    await seed(100, { tenant, state: 'SUCCEEDED' })
    await node.sql.query(`insert into carillon.pools (pool) values ('short-lived')`)
    const { operationId } = (await ask(tenant, { pool: 'short-lived', ratePerSec: 20 })).body
    await until(async () => (await read(operationId, tenant)).done > 0)
    await node.sql.query(`delete from carillon.pools where pool = 'short-lived'`)
    await until(async () => (await read(operationId, tenant)).state !== 'RUNNING')
    expect(await read(operationId, tenant)).toMatchObject({
      state: 'FAILED',
      error: 'the pool short-lived was deleted',
    })
    expect(await rows(tenant, 'copies')).toHaveLength((await read(operationId, tenant)).done)
  })

  it('are begun once for one Idempotency-Key, in library mode as over HTTP', async () => {
    const tenant = 'once'
    await seed(2, { tenant, state: 'SUCCEEDED' })
    const headers = { ...as(tenant), 'idempotency-key': 'k' }
    const once = () => node.ask('POST /v1/executions/copy', { filter: {}, pool: 'idle' }, headers)
    const ids = (await Promise.all([once(), once()])).map(({ body }) => body.operationId)
    expect(new Set(ids).size).toBe(1)
    await until(async () => (await read(ids[0], tenant)).state === 'SUCCEEDED')
    expect(await rows(tenant, 'copies')).toHaveLength(2)
    await seed(2, { state: 'SUCCEEDED', labels: { of: 'library' } })
    const answer = await staging.executions.copyAll({
      filter: { labels: { of: 'library' } },
      pool: 'idle',
      dryRun: true,
    })
    expect(answer).toEqual({ count: 2, exact: true })
  })

  it('leave nothing for verify to find, and are counted among what was acknowledged', async () => {
    const { rows: counted } = await node.sql.query(`select count(*)::int n from carillon.executions
      where labels ? 'copiedFrom' and tenant in ('range', 'versions')`)
    const acknowledged = async (tenant: string) =>
      (await node.sql.query('select sum(count)::int n from carillon.receipts where tenant = $1', [tenant])).rows[0].n
    // Five submissions and three copies; a trigger is none, and one copy.
    await until(async () => (await acknowledged('range')) === 8 && (await acknowledged('versions')) === 1)
    expect(counted[0].n).toBe(4)
    for (const tenant of ['range', 'versions']) {
      const { body } = await node.ask(`GET /v1/verify?from=${began}`, undefined, as(tenant))
      const { missed, doubled, stuck, wrong, lost, findings } = body
      expect({ missed, doubled, stuck, wrong, lost: lost.submissions, findings }).toEqual({
        ...{ missed: 0, doubled: 0, stuck: 0, wrong: 0, lost: 0, findings: [] },
      })
    }
  })
})
