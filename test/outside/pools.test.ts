/** A tenant's pools are its own names: nobody can take them from it, see them, or learn that they are there. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { jwtSecret } from '../integration/http/auth-server.ts'
import { bearer } from '../integration/http/every-route-stage.ts'
import { HandWorker } from '../integration/http/hand-worker.ts'
import { quickTimes } from '../support/carillon.ts'
import { type HttpNode, httpNode } from '../support/http-node.ts'

type Headers = Record<string, string>
let node: HttpNode
let sql: pg.Client
let platform: Headers
let acme: Headers
let beta: Headers

beforeAll(async () => {
  node = await httpNode({
    auth: { jwtSecret },
    engine: { ...quickTimes, workerLostMs: 30_000, workerSuspectMs: 15_000, maxPoolsPerTenant: 20 },
  })
  sql = new pg.Client(node.databaseUrl)
  await sql.connect()
  platform = await bearer({ tenant: '*' })
  acme = await bearer({ tenant: 'acme' })
  beta = await bearer({ tenant: 'beta' })
})
afterAll(async () => {
  await sql.end()
  await node[Symbol.asyncDispose]()
})

const announce = (pools: string[], headers: Headers) =>
  node.ask(
    'POST /v1/workers',
    { name: 'w', pools: pools.map((pool) => ({ pool, handlers: ['h'], slots: 1 })) },
    headers,
  )
const submit = async (pool: string, headers: Headers) => {
  const { status, body } = await node.ask(
    'POST /v1/jobs',
    { type: 'ONE_SHOT', target: { pool, handler: 'h' } },
    headers,
  )
  expect(status).toBe(201)
  return body.jobId as string
}
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code]
const names = async (headers: Headers) =>
  (await node.ask('GET /v1/pools?limit=1000', undefined, headers)).body.items
    .filter(({ name }: { name: string }) => !name.startsWith('carillon.'))
    .map(({ name, tenant }: { name: string; tenant: string | null }) => `${tenant ?? ''}/${name}`)

describe('two tenants and the installation, each with a pool of the same name', () => {
  let workers: Record<'platform' | 'acme' | 'beta', HandWorker>
  beforeAll(async () => {
    workers = {
      acme: await HandWorker.register(node.url, { pools: ['email'], headers: acme }),
      beta: await HandWorker.register(node.url, { pools: ['email'], headers: beta }),
      platform: await HandWorker.register(node.url, { pools: ['email'], headers: platform }),
    }
  })

  it('see their own and the installation’s', async () => {
    expect(await names(acme)).toEqual(['acme/email', '/default', '/email'])
    expect(await names(beta)).toEqual(['beta/email', '/default', '/email'])
    expect((await names(platform)).sort()).toEqual(['/default', '/email', 'acme/email', 'beta/email'])
  })

  it('lease their own work, and show it under the name', async () => {
    const gamma = await bearer({ tenant: 'gamma' })
    const ids = {
      acme: await submit('email', acme),
      beta: await submit('email', beta),
      platform: await submit('email', gamma),
    }
    for (const who of ['platform', 'acme', 'beta'] as const) {
      const { body } = await workers[who].lease({ pool: 'email', slots: 10 })
      expect(body.executions).toMatchObject([{ executionId: ids[who], pool: 'email' }])
    }
    for (const [id, headers] of [
      [ids.acme, acme],
      [ids.beta, beta],
      [ids.platform, gamma],
    ] as const) {
      const { body: execution } = await node.ask(`GET /v1/executions/${id}`, undefined, headers)
      expect(execution).toMatchObject({ pool: 'email', state: 'RUNNING' })
      const { body: job } = await node.ask(`GET /v1/jobs/${id}`, undefined, headers)
      expect(job.target).toEqual({ pool: 'email', handler: 'h' })
      const { body: listed } = await node.ask('GET /v1/executions?pool=email', undefined, headers)
      expect(listed.items.map((e: { executionId: string }) => e.executionId)).toEqual([id])
      const { body: serving } = await node.ask('GET /v1/workers?pool=email', undefined, headers)
      expect(new Set(serving.items.flatMap((w: { pools: { pool: string }[] }) => w.pools.map((p) => p.pool)))).toEqual(
        new Set(['email']),
      )
    }
  })

  it('keep the pool of a job through changes, lists and events', async () => {
    const body = { type: 'CRON', schedule: '0 3 1 1 *', target: { pool: 'email', handler: 'h' }, key: 'yearly' }
    const { body: job } = await node.ask('POST /v1/jobs', body, acme)
    expect((await node.ask('POST /v1/jobs', body, acme)).status).toBe(200)
    const path = `/v1/jobs/${job.jobId}`
    expect((await node.ask(`PATCH ${path}`, { priority: 'LOW' }, acme)).body.target).toEqual(body.target)
    expect((await node.ask('GET /v1/jobs?pool=email', undefined, acme)).body.items).toMatchObject([
      { jobId: job.jobId },
    ])
    const { rows } = await sql.query('select pool from carillon.jobs where job_id = $1', [job.jobId])
    expect(rows).toEqual([{ pool: 'acme\u001femail' }])
    const { body: triggered } = await node.ask(`POST ${path}/trigger`, {}, acme)
    const { body: explained } = await node.ask(`GET /v1/executions/${triggered.executionId}/explain`, undefined, acme)
    expect(JSON.stringify(explained)).not.toContain('\\u001f')
    expect((await workers.acme.lease({ pool: 'email' })).body.executions).toMatchObject([
      { executionId: triggered.executionId },
    ])
    await node.ask(`DELETE ${path}?cancelRunning=true`, undefined, acme)
  })

  it('are enqueued to in SQL by name', async () => {
    const { rows } = await sql.query(`select carillon.enqueue('h', pool => 'email', tenant => 'beta') id`)
    expect((await workers.beta.lease({ pool: 'email' })).body.executions).toMatchObject([{ executionId: rows[0].id }])
  })

  it('pause, measure and resume their own', async () => {
    expect((await node.ask('POST /v1/pools/email/pause', undefined, acme)).body).toMatchObject({
      tenant: 'acme',
      paused: true,
    })
    expect((await node.ask('GET /v1/pools/email/scaling', undefined, beta)).body).toMatchObject({
      name: 'email',
      workers: 1,
    })
    const { rows } = await sql.query(`select tenant, paused from carillon.pools where name = 'email' order by tenant`)
    expect(rows).toEqual([
      { tenant: 'acme', paused: true },
      { tenant: 'beta', paused: false },
      { tenant: null, paused: false },
    ])
    const asAcme = { ...platform, 'carillon-tenant': 'acme' }
    expect((await node.ask('POST /v1/pools/email/resume', undefined, asAcme)).body).toMatchObject({
      tenant: 'acme',
      paused: false,
    })
  })
})

describe('what a tenant can find out or take', () => {
  it('a name that another tenant has answers as one that nobody has', async () => {
    await node.ask('POST /v1/pools', { name: 'secret-project' }, acme)
    for (const name of ['secret-project', 'nobody-has-this']) {
      const job = { type: 'ONE_SHOT', target: { pool: name, handler: 'h' } }
      expect(codeOf(await node.ask('POST /v1/jobs', job, beta))).toEqual([422, 'POOL_UNKNOWN'])
      expect(codeOf(await node.ask(`GET /v1/pools/${name}/scaling`, undefined, beta))).toEqual([404, 'POOL_NOT_FOUND'])
      expect(codeOf(await node.ask(`DELETE /v1/pools/${name}`, undefined, beta))).toEqual([404, 'POOL_NOT_FOUND'])
      expect((await node.ask('POST /v1/pools', { name }, beta)).status).toBe(201)
    }
    expect(
      (
        await node.ask(
          'POST /v1/jobs',
          { type: 'ONE_SHOT', target: { pool: 'secret-projcet', handler: 'h' } },
          await bearer({ tenant: 'gamma' }),
        )
      ).body.detail,
    ).not.toContain('secret-project')
  })

  it('the installation’s names stay the installation’s', async () => {
    expect(codeOf(await announce(['default'], acme))).toEqual([403, 'POOL_NOT_YOURS'])
    expect(codeOf(await node.ask('POST /v1/pools', { name: 'default' }, acme))).toEqual([403, 'POOL_NOT_YOURS'])
    expect(codeOf(await node.ask('DELETE /v1/pools/default', undefined, acme))).toEqual([403, 'POOL_NOT_YOURS'])
  })

  it('no more pools than it may have, also when it asks for many at once', async () => {
    const delta = await bearer({ tenant: 'delta', but: 'admin' })
    const many = Array.from({ length: 40 }, (_, n) => announce([`grab-${n}`], delta))
    const answers = (await Promise.all(many)).map(codeOf)
    expect(answers.filter(([status]) => status === 201)).toHaveLength(20)
    expect(new Set(answers.map(String))).toEqual(new Set(['201,', '409,POOL_LIMIT_REACHED']))
    expect(
      (
        await announce(
          Array.from({ length: 30 }, (_, n) => `lot-${n}`),
          delta,
        )
      ).status,
    ).toBe(409)
    expect((await names(delta)).filter((name: string) => name.startsWith('delta/'))).toHaveLength(20)
    // Others are not in its way.
    expect((await announce(['grab-1'], beta)).status).toBe(201)
  })
})

describe('a pool is deleted', () => {
  it('when nothing uses it any more, and its name is free again', async () => {
    const worker = await HandWorker.register(node.url, { pools: ['old'], headers: acme })
    const remove = () => node.ask('DELETE /v1/pools/old', undefined, acme)
    const refused = async (reason: RegExp) => {
      const answer = await remove()
      expect(codeOf(answer)).toEqual([409, 'STATE_CONFLICT'])
      expect(answer.body.detail).toMatch(reason)
    }
    await refused(/live workers serve it/)
    await worker.leave()
    const { body: job } = await node.ask(
      'POST /v1/jobs',
      { type: 'CRON', schedule: '0 3 1 1 *', target: { pool: 'old', handler: 'h' } },
      acme,
    )
    await refused(/jobs name it/)
    await node.ask(`DELETE /v1/jobs/${job.jobId}`, undefined, acme)
    const id = await submit('old', acme)
    await refused(/unfinished executions/)
    await node.ask(`POST /v1/executions/${id}/cancel`, undefined, acme)
    expect((await remove()).status).toBe(204)
    expect(codeOf(await remove())).toEqual([404, 'POOL_NOT_FOUND'])
    expect((await node.ask('POST /v1/pools', { name: 'old' }, acme)).status).toBe(201)
  })

  it('but never the one that always exists', async () => {
    expect(codeOf(await node.ask('DELETE /v1/pools/default', undefined, platform))).toEqual([409, 'STATE_CONFLICT'])
  })
})
