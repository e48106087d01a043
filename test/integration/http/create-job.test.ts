import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes } from '../../support/carillon.ts'
import { fitsContract } from '../../support/contract-check.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'

let node: HttpNode
let sql: pg.Client

beforeAll(async () => {
  node = await httpNode({ engine: quickTimes })
  sql = new pg.Client(node.databaseUrl)
  await sql.connect()
  await sql.query(`insert into carillon.pools (pool) values ('batch-etl')`)
})
afterAll(async () => {
  await sql.end()
  await node[Symbol.asyncDispose]()
})

const invoices = {
  name: 'daily-invoice-gen',
  type: 'CRON',
  schedule: '0 3 * * *',
  timezone: 'America/Los_Angeles',
  target: { pool: 'batch-etl', handler: 'generate_invoices' },
  payload: { dateRange: 'yesterday' },
  retryPolicy: { maxAttempts: 3, backoff: 'EXPONENTIAL', initialDelayMs: 30000 },
  timeoutSec: 600,
  priority: 'NORMAL',
}
const now = { type: 'ONE_SHOT', target: { handler: 'h' } }
const create = (body: unknown, headers?: Record<string, string>) => node.ask('POST /v1/jobs', body, headers)
const one = async (text: string, values: unknown[]) => (await sql.query(text, values)).rows[0]

describe('a job', () => {
  it('is created by the request of the specification', async () => {
    const answer = await create(invoices, { 'idempotency-key': '5f0c' })
    expect(answer.status).toBe(201)
    fitsContract('createJob', answer)
    const { jobId, nextFireAt } = answer.body
    expect(answer.body).toMatchObject({ ...invoices, state: 'ACTIVE', version: 1, key: null, lastExecutionId: null })
    expect(answer.headers.get('etag')).toBe('"1"')
    expect(answer.body.nextFireLocal).toMatch(/T03:00:00$/)
    const { due, action, actor } = await one(
      `select s.due, a.action, a.actor from carillon.schedules s join carillon.audit a on a.subject = s.job_id::text
       where s.job_id = $1`,
      [jobId],
    )
    expect({ due: due.toISOString(), action }).toEqual({ due: nextFireAt, action: 'job.created' })
    expect(actor).not.toBe('')
    const read = await node.ask(`GET /v1/jobs/${jobId}`)
    expect({ ...read.body, executions: undefined }).toEqual({ ...answer.body, executions: undefined })
  })

  it('with a key is created, left as it is, and updated', async () => {
    const keyed = { ...invoices, key: 'invoices' }
    const first = await create(keyed)
    const same = await create(keyed)
    const other = await create({ ...keyed, timeoutSec: 60 })
    for (const answer of [first, same, other]) fitsContract('createJob', answer)
    expect([first, same, other].map(({ status, body }) => [status, body.version])).toEqual([
      [201, 1],
      [200, 1],
      [200, 2],
    ])
    expect(new Set([first, same, other].map(({ body }) => body.jobId)).size).toBe(1)
    expect(other.body).toMatchObject({ timeoutSec: 60, nextFireAt: first.body.nextFireAt })
  })

  it('that runs once, later, waits among the jobs', async () => {
    const answer = await create({ type: 'DELAYED', delayMs: 60_000, target: { handler: 'h' } })
    fitsContract('createJob', answer)
    expect(answer).toMatchObject({ status: 201, body: { type: 'DELAYED', delayMs: 60_000, lastExecutionId: null } })
    expect(await one('select from carillon.schedules where job_id = $1', [answer.body.jobId])).toBeDefined()
  })
})

describe('a submission', () => {
  it.each([
    ['without a time', now],
    ['delayed by nothing', { type: 'DELAYED', delayMs: 0, target: { handler: 'h' } }],
    ['for a time that has passed', { ...now, runAt: new Date(Date.now() - 60_000).toISOString() }],
  ])('%s is in the ledger when it is answered, and its job is its execution', async (_, body) => {
    const answer = await create({ ...body, payload: [1, '\u0000'], labels: { team: 'a' }, timeoutSec: 5 })
    fitsContract('createJob', answer)
    const { jobId } = answer.body
    expect(answer).toMatchObject({
      status: 201,
      body: { type: 'ONE_SHOT', state: 'ACTIVE', nextFireAt: null, lastExecutionId: jobId, lastState: 'PENDING' },
    })
    const { payload, jobs, audited } = await one(
      `select e.payload, (select count(*)::int from carillon.jobs j where j.job_id = e.job_id) jobs,
         (select count(*)::int from carillon.audit a where a.subject = e.job_id::text) audited
       from carillon.executions e join carillon.ready r on r.execution_id = e.execution_id where e.execution_id = $1`,
      [jobId],
    )
    expect({ payload: JSON.parse(payload), jobs, audited }).toEqual({ payload: [1, '\u0000'], jobs: 0, audited: 0 })
    const { createdAt, updatedAt, executions, ...read } = (await node.ask(`GET /v1/jobs/${jobId}`)).body
    expect(executions).toHaveLength(1)
    expect(answer.body).toMatchObject(read)
  })

  it('carries the trace of its caller, from the body or else from the header', async () => {
    const trace = (n: number) => `00-${String(n).repeat(32)}-${'b'.repeat(16)}-01`
    const stored = async (body: object, header: string) => {
      const { jobId } = (await create({ ...now, ...body }, { traceparent: header })).body
      return (await one('select traceparent from carillon.executions where execution_id = $1', [jobId])).traceparent
    }
    expect(await stored({}, trace(1))).toBe(trace(1))
    expect(await stored({ traceparent: trace(2) }, trace(1))).toBe(trace(2))
    expect(await stored({}, 'rubbish')).toBe(null)
  })

  it('with a policy that only a job can have goes the way of the jobs, and runs as well', async () => {
    const passed = new Date(Date.now() - 3_600_000).toISOString()
    const { status, body } = await create({ ...now, runAt: passed, misfire: 'SKIP' })
    expect(status).toBe(201)
    const state = async () =>
      (await one('select state from carillon.executions where execution_id = $1', [body.jobId]))?.state
    await until(async () => (await state()) === 'SKIPPED')
  })
})

describe('refused', () => {
  const zero = '0'.repeat(256 * 1024)
  it.each([
    [
      'a pool that is not there',
      'POOL_UNKNOWN',
      '/target/pool',
      { ...now, target: { pool: 'batch-elt', handler: 'h' } },
    ],
    ['a payload that is too large', 'PAYLOAD_TOO_LARGE', '/payload', { ...now, payload: zero }],
    ['a zone that is not there', 'TIMEZONE_UNKNOWN', '/timezone', { ...invoices, timezone: 'Mars/Olympus' }],
    ['the same for a submission', 'TIMEZONE_UNKNOWN', '/timezone', { ...now, timezone: 'Mars/Olympus' }],
    [
      'a target that is not allowed',
      'TARGET_NOT_ALLOWED',
      '/target/shell',
      { ...now, target: { shell: { command: 'ls' } } },
    ],
    [
      'a target that cannot be stored',
      'VALIDATION',
      '/target/http/url',
      { ...now, target: { http: { url: 'https://a.example/\ud800' } } },
    ],
    ['two targets', 'VALIDATION', '/target', { ...now, target: { handler: 'h', http: { url: 'https://a.example' } } }],
    [
      'a pool of the installation itself',
      'VALIDATION',
      '/target/pool',
      { ...now, target: { pool: 'carillon.http', handler: 'h' } },
    ],
    ['a cron in a one-shot', 'VALIDATION', '/schedule', { ...now, schedule: '* * * * *' }],
    ['a time before history', 'TIME_OUT_OF_RANGE', '/runAt', { ...now, runAt: '1999-01-01T00:00:00Z' }],
    ['what it does not know', 'VALIDATION', '/cron', { ...now, cron: '* * * * *' }],
    ['a lone surrogate', 'VALIDATION', '/name', { ...now, name: '\ud800' }],
  ])('%s', async (_, code, pointer, body) => {
    const answer = await create(body)
    expect({ code: answer.body.code, pointer: answer.body.errors[0].pointer }).toEqual({ code, pointer })
    expect(answer.status).toBe(code === 'PAYLOAD_TOO_LARGE' ? 413 : 422)
  })
})
