import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fitsContract } from '../../support/contract-check.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'

let node: HttpNode
let sql: pg.Client

beforeAll(async () => {
  node = await httpNode()
  sql = new pg.Client(node.databaseUrl)
  await sql.connect()
})
afterAll(async () => {
  await sql.end()
  await node[Symbol.asyncDispose]()
})

const yearly = {
  type: 'CRON',
  schedule: '0 0 1 1 *',
  target: { handler: 'h' },
  payload: { own: true },
  labels: { a: 'b' },
}
const create = async (more: object = {}) =>
  (await node.ask('POST /v1/jobs', { ...yearly, ...more })).body.jobId as string
const trigger = (jobId: string, body?: unknown, headers?: Record<string, string>) =>
  node.ask(`POST /v1/jobs/${jobId}/trigger`, body, headers)

it('runs a job now and answers its execution, as the ledger has it', async () => {
  const jobId = await create({ maxFires: 3, retryPolicy: { maxAttempts: 7 } })
  const answer = await trigger(jobId)
  fitsContract('triggerJob', answer)
  expect(answer).toMatchObject({
    status: 201,
    body: {
      jobId,
      jobVersion: 1,
      origin: 'TRIGGER',
      state: 'PENDING',
      payload: { own: true },
      labels: { a: 'b' },
      maxAttempts: 7,
    },
  })
  const read = await node.ask(`GET /v1/executions/${answer.body.executionId}`)
  expect(read.body).toEqual(answer.body)
  const { rows } = await sql.query(
    `select actor, detail from carillon.audit where action = 'job.triggered' and subject = $1`,
    [jobId],
  )
  expect(rows).toMatchObject([{ detail: { executionId: answer.body.executionId, outcome: 'READY' } }])
})

it('takes another payload for this run, null included', async () => {
  const jobId = await create()
  const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`
  expect((await trigger(jobId, { payload: [1] }, { traceparent })).body).toMatchObject({
    payload: [1],
    traceId: '1'.repeat(32),
  })
  expect((await trigger(jobId, { payload: null })).body.payload).toBe(null)
  expect((await trigger(jobId, {})).body.payload).toEqual({ own: true })
  expect(await trigger(jobId, { payload: 'x'.repeat(300_000) })).toMatchObject({ status: 413 })
  expect(await trigger(jobId, { playload: 1 })).toMatchObject({ status: 422 })
})

it('runs a paused job, and one that has not fired', async () => {
  const jobId = await create()
  await node.ask(`POST /v1/jobs/${jobId}/pause`)
  expect((await trigger(jobId)).status).toBe(201)
  const once = (await node.ask('POST /v1/jobs', { type: 'DELAYED', delayMs: 3_600_000, target: { handler: 'h' } })).body
  expect(await trigger(once.jobId)).toMatchObject({ status: 201, body: { jobVersion: null } })
})

it('is refused while overlap forbids it, which is on record; the key stays free', async () => {
  const jobId = await create({ overlap: 'FORBID' })
  const first = await trigger(jobId)
  expect(first.status).toBe(201)
  const key = { 'idempotency-key': 'again' }
  const refused = await trigger(jobId, undefined, key)
  expect(refused).toMatchObject({ status: 409, body: { code: 'OVERLAP_FORBIDDEN' } })
  const { rows } = await sql.query(
    `select state, reason from carillon.executions where job_id = $1 order by execution_id`,
    [jobId],
  )
  expect(rows).toEqual([
    { state: null, reason: null },
    { state: 'SKIPPED', reason: 'OVERLAP' },
  ])
  await node.ask(`POST /v1/executions/${first.body.executionId}/cancel`)
  expect((await trigger(jobId, undefined, key)).status).toBe(201)
})

it('waits behind another where one may wait', async () => {
  const jobId = await create({ overlap: 'QUEUE_ONE' })
  const answers = [await trigger(jobId), await trigger(jobId), await trigger(jobId)]
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 409])
})

it('finds no job that is not there', async () => {
  const jobId = await create()
  await node.ask(`DELETE /v1/jobs/${jobId}`)
  expect(await trigger(jobId)).toMatchObject({ status: 404, body: { code: 'JOB_NOT_FOUND' } })
  expect(await trigger('00000000-0000-8000-8000-000000000000')).toMatchObject({ status: 404 })
})
