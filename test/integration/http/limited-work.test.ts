/** Jobs, submissions and steps that name limits: what is refused, what is stored of them, what is shown. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpNode, httpNode } from '../../support/http-node.ts'

let node: HttpNode
let sql: pg.Client

beforeAll(async () => {
  node = await httpNode()
  sql = new pg.Client(node.databaseUrl)
  await sql.connect()
  // Nothing starts: what is asked for can be looked at.
  for (const name of ['acct', 'region']) await ask(`PUT /v1/limits/${name}`, { concurrency: 0 })
  await ask('PUT /v1/limits/by-handler', { for: 'HANDLER', concurrency: 1 })
})
afterAll(async () => {
  await sql.end()
  await node[Symbol.asyncDispose]()
})

const ask = (what: string, body?: unknown, headers = {}) => node.ask(what, body, headers)
const target = { handler: 'charge' }
const cron = { type: 'CRON', schedule: '0 3 1 1 *', target }
const once = { type: 'ONE_SHOT', target }
const payload = { accountId: 42, region: 'eu' }
const named = ['acct:{payload.accountId}', 'region:{payload.region}']
const keys = ['acct:42', 'region:eu']
const firstError = ({ status, body }: { status: number; body: { code: string; errors: object[] } }) => ({
  ...{ status, code: body.code },
  ...body.errors[0],
})
const storedOfJob = async (jobId: string) =>
  (await sql.query('select policy from carillon.jobs where job_id = $1', [jobId])).rows[0].policy
const storedOfExecution = async (id: string) =>
  (await sql.query('select policy from carillon.executions where execution_id = $1', [id])).rows[0].policy

describe('a job', () => {
  it('shows its limits as they were asked for, and stores their keys', async () => {
    const { body } = await ask('POST /v1/jobs', { ...cron, payload, limits: named })
    expect(body.limits).toEqual(named)
    expect((await ask(`GET /v1/jobs/${body.jobId}`)).body.limits).toEqual(named)
    expect(await storedOfJob(body.jobId)).toEqual({ limits: named, limitKeys: keys })
    const { body: plain } = await ask('POST /v1/jobs', cron)
    expect(plain.limits).toEqual([])
  })

  it('resolves them again when its payload changes, and forgets them when asked to', async () => {
    const { body } = await ask('POST /v1/jobs', { ...cron, payload, limits: named })
    const patch = (change: object) => ask(`PATCH /v1/jobs/${body.jobId}`, change)
    expect((await patch({ payload: { accountId: 'b-7' } })).body.version).toBe(2)
    expect((await storedOfJob(body.jobId)).limitKeys).toEqual(['acct:b-7', 'region:eu'])
    expect(firstError(await patch({ payload: { region: null } }))).toMatchObject({
      ...{ status: 422, code: 'VALIDATION', pointer: '/limits/1' },
      message: expect.stringContaining('payload.region of the limit region is not there'),
    })
    await patch({ priority: 'HIGH' })
    expect((await storedOfJob(body.jobId)).limitKeys).toEqual(['acct:b-7', 'region:eu'])
    expect((await patch({ limits: ['acct'] })).body.limits).toEqual(['acct'])
    expect((await storedOfJob(body.jobId)).limitKeys).toEqual(['acct'])
    expect((await patch({ limits: null })).body.limits).toEqual([])
    expect(await storedOfJob(body.jobId)).toBeNull()
    const replaced = await ask(`PUT /v1/jobs/${body.jobId}`, { ...cron, payload, limits: ['acct:x', 'acct:x'] })
    expect(replaced.body.limits).toEqual(['acct:x', 'acct:x'])
    expect((await storedOfJob(body.jobId)).limitKeys).toEqual(['acct:x'])
  })

  it.each([
    [{ limits: ['a', 'b', 'c', 'd', 'e'] }, 'VALIDATION', '/limits'],
    [{ limits: ['acct', 'acct', 'acct', 'acct', 'acct'] }, 'VALIDATION', '/limits'],
    [{ limits: 'acct' }, 'VALIDATION', '/limits'],
    [{ limits: [''] }, 'VALIDATION', '/limits/0'],
    [{ limits: ['a\nb'] }, 'VALIDATION', '/limits/0'],
    [{ limits: ['acct:'] }, 'VALIDATION', '/limits/0'],
    [{ limits: ['acct:{accountId}'] }, 'VALIDATION', '/limits/0'],
    [{ limits: ['acct', 'acct:{payload.accountId}'] }, 'VALIDATION', '/limits/1'],
    [{ limits: ['act:5'] }, 'LIMIT_UNKNOWN', '/limits/0'],
    [{ limits: ['by-handler:5'] }, 'LIMIT_UNKNOWN', '/limits/0'],
  ])('is refused with %j', async (policy, code, pointer) => {
    for (const job of [cron, once]) {
      expect(firstError(await ask('POST /v1/jobs', { ...job, ...policy }))).toMatchObject({
        status: 422,
        code,
        pointer,
      })
    }
  })

  it('is told what it may have meant', async () => {
    const answer = await ask('POST /v1/jobs', { ...cron, limits: ['act:5'] })
    expect(firstError(answer)).toMatchObject({ message: 'there is no limit act for keys', hint: 'Did you mean acct?' })
    expect(firstError(await ask('POST /v1/jobs', { ...cron, limit: ['acct'] }))).toMatchObject({
      hint: expect.stringContaining('limits'),
    })
  })

  it('may name limits of its tenant and of the installation, not of other tenants', async () => {
    const asAcme = { 'carillon-tenant': 'acme' }
    expect((await ask('PUT /v1/limits/mine', { concurrency: 1 }, asAcme)).body.tenant).toBe('acme')
    const limits = ['mine:1', 'acct:1']
    expect((await ask('POST /v1/jobs', { ...cron, limits }, asAcme)).status).toBe(201)
    const foreign = await ask('POST /v1/jobs', { ...cron, limits }, { 'carillon-tenant': 'other' })
    expect(firstError(foreign)).toMatchObject({ code: 'LIMIT_UNKNOWN', pointer: '/limits/0' })
    expect((await ask('DELETE /v1/limits/mine', undefined, asAcme)).status).toBe(204)
    expect(firstError(await ask('POST /v1/jobs', { ...cron, limits }, asAcme))).toMatchObject({ code: 'LIMIT_UNKNOWN' })
  })
})

describe('a submission', () => {
  it('shows and stores them as a job does', async () => {
    const { body } = await ask('POST /v1/jobs', { ...once, payload, limits: named })
    expect(body.limits).toEqual(named)
    const id = body.jobId
    expect((await ask(`GET /v1/executions/${id}`)).body.limits).toEqual(named)
    expect((await ask(`GET /v1/jobs/${id}`)).body.limits).toEqual(named)
    expect(await storedOfExecution(id)).toEqual({ limits: named, limitKeys: keys })
    const { body: plain } = await ask('POST /v1/jobs', once)
    expect((await ask(`GET /v1/executions/${plain.jobId}`)).body.limits).toEqual([])
  })

  it('of a batch has the keys of its own payload, and is refused by itself', async () => {
    const jobs = [1, 2, undefined].map((accountId) => ({ ...once, payload: { accountId }, limits: [named[0]] }))
    const refused = await ask('POST /v1/jobs/batch', { jobs })
    expect(firstError(refused)).toMatchObject({ status: 422, code: 'VALIDATION', pointer: '/jobs/2/limits/0' })
    const { body } = await ask('POST /v1/jobs/batch', { jobs, partial: true })
    const stored = body.items.slice(0, 2).map(({ jobId }: { jobId: string }) => storedOfExecution(jobId))
    expect((await Promise.all(stored)).map(({ limitKeys }) => limitKeys)).toEqual([['acct:1'], ['acct:2']])
    const unknown = await ask('POST /v1/jobs/batch', { jobs: [once, { ...once, limits: ['nothing'] }] })
    expect(firstError(unknown)).toMatchObject({ code: 'LIMIT_UNKNOWN', pointer: '/jobs/1/limits/0' })
  })

  it('with a dedupe key has them too', async () => {
    const { body } = await ask('POST /v1/jobs', { ...once, payload, limits: named, dedupe: { key: 'k' } })
    expect((await storedOfExecution(body.jobId)).limitKeys).toEqual(keys)
  })
})

describe('a step', () => {
  it('has the keys of its own payload', async () => {
    const steps = [{ name: 'a', target, payload, limits: named }]
    const { body } = await ask('POST /v1/dags', { key: 'limited', steps })
    expect((await ask(`GET /v1/dags/${body.dagId}`)).body.steps[0].limits).toEqual(named)
    const run = await ask('POST /v1/dags/limited/runs', {})
    const { rows } = await sql.query('select policy from carillon.executions where job_id = $1', [run.body.runId])
    expect(rows[0].policy).toEqual({ limits: named, limitKeys: keys })
  })

  it.each([
    [{ limits: ['acct:{payload.accountId}'] }, 'VALIDATION', '/steps/0/limits/0'],
    [{ limits: ['nothing'] }, 'LIMIT_UNKNOWN', '/steps/0/limits/0'],
  ])('without a payload is refused with %j', async (policy, code, pointer) => {
    const answer = await ask('POST /v1/dags', { steps: [{ name: 'a', target, ...policy }] })
    expect(firstError(answer)).toMatchObject({ status: 422, code, pointer })
  })

  it('that waits for a signal has none', async () => {
    const answer = await ask('POST /v1/dags', { steps: [{ name: 'a', waitFor: 'SIGNAL', limits: ['acct'] }] })
    expect(firstError(answer)).toMatchObject({ code: 'VALIDATION', pointer: '/steps/0/limits' })
  })

  it('over a list has the keys of each item', async () => {
    const steps = [{ name: 'each', target, forEach: 'payload', limits: ['acct:{payload.id}', 'region:{payload.id}'] }]
    const run = await ask('POST /v1/dag-runs', { steps, payload: [{ id: 1 }, { id: 'b' }] })
    expect(run.status).toBe(201)
    const items = async () =>
      (
        await sql.query(
          `select policy -> 'limitKeys' keys from carillon.executions where policy ? 'limitKeys' and name like 'each.%' order by name`,
        )
      ).rows.map((row) => row.keys)
    await expect.poll(items, { timeout: 20_000 }).toEqual([
      ['acct:1', 'region:1'],
      ['acct:b', 'region:b'],
    ])
  })
})

describe('carillon.enqueue', () => {
  const enqueue = async (limits: unknown, given: string | null, tenant = 'default') =>
    (
      await sql.query('select carillon.enqueue($1, $2::json, tenant => $3, policy => $4) id', [
        ...['charge', given, tenant, JSON.stringify({ limits, timeoutSec: 5 })],
      ])
    ).rows[0].id
  const stored = async (id: string) =>
    (
      await sql.query(
        `select policy from carillon.submissions where execution_id = $1
         union all select policy from carillon.executions where execution_id = $1`,
        [id],
      )
    ).rows[0].policy

  it('resolves them as HTTP does', async () => {
    const of =
      '{"id": 42, "n": 1.50, "text": "a\\u00e4", "yes": true, "list": [{"id": 7}], "0": "zero", "t": 1, "t": 2}'
    const asked: Record<string, string> = {
      acct: 'acct',
      'acct:a:b': 'acct:a:b',
      'acct:{payload.id}': 'acct:42',
      'acct:{payload.n}': 'acct:1.50',
      'acct:{payload.text}/x': 'acct:aä/x',
      'acct:{payload.yes}{payload.0}': 'acct:truezero',
      'acct:{payload.list.0.id}': 'acct:7',
      'acct:{payload.t}': 'acct:2',
    }
    for (const [one, key] of Object.entries(asked)) {
      expect(await stored(await enqueue([one, one], of))).toEqual({
        limits: [one, one],
        limitKeys: [key],
        timeoutSec: 5,
      })
    }
    expect((await stored(await enqueue(['acct:{payload}'], ' 5.0 '))).limitKeys).toEqual(['acct:5.0'])
  })

  it.each([
    [['nothing'], '{}', 'there is no limit nothing for keys'],
    [['by-handler'], '{}', 'there is no limit by-handler for keys'],
    [['acct:{payload.id}'], '{}', '{payload.id} of the limit acct is not there'],
    [['acct:{payload.id}'], null, 'is not there'],
    [['acct:{payload.id}'], '{"id": null}', 'is not there'],
    [['acct:{payload.id}'], '{"id": {}}', 'is object'],
    [['acct:{payload.0}'], '[[]]', 'is array'],
    [['acct:{payload.-1}'], '[1]', 'is not there'],
    [['acct:{payload.01}'], '[1, 2]', 'is not there'],
    [['acct:{payload.id}'], '{"id": ""}', '1 to 200 characters'],
    [['acct:{payload.id}'], '{"id": "a\\tb"}', 'no control characters'],
    [['acct:{payload.id}'], '{"id": "\\u0000"}', 'is not there'],
    [['acct:{payload.id}'], `{"id": "${'x'.repeat(201)}"}`, '1 to 200 characters'],
    [['acct:{id}'], '{}', 'is not a place in the payload'],
    [['acct:{payload.id'], '{}', 'is not a place in the payload'],
    [['acct:'], '{}', 'is not a limit and its key'],
    [['{payload.id}'], '{}', 'is not a limit and its key'],
    [['a', 'b', 'c', 'd', 'e'], '{}', 'an array of at most 4 limits'],
    [['acct', 5], '{}', 'an array of at most 4 limits'],
  ])('refuses %j of %s', async (limits, of, message) => {
    await expect(enqueue(limits, of)).rejects.toMatchObject({
      code: '22023',
      message: expect.stringContaining(message),
    })
  })

  it('knows the limits of the tenant that it enqueues for', async () => {
    await ask('PUT /v1/limits/of-acme', { concurrency: 1 }, { 'carillon-tenant': 'acme' })
    expect((await stored(await enqueue(['of-acme'], null, 'acme'))).limitKeys).toEqual(['of-acme'])
    await expect(enqueue(['of-acme'], null)).rejects.toMatchObject({ code: '22023' })
  })
})
