/** A node that refuses new work of tenants that are not declared. */
import { defineHandler } from '@carillon/server'
import { expect, it } from 'vitest'
import { testCarillon } from '../../support/carillon.ts'
import { ask, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'
import { jwtSecret, token } from './auth-server.ts'

const scope = 'jobs:read jobs:write work admin'
const as = async (tenant: string) => ({ authorization: `Bearer ${await token({ tenant, scope })}` })
const target = { handler: 'h' }
const steps = [{ name: 'a', target }]

const comes: [string, unknown][] = [
  ['POST /v1/jobs', { type: 'ONE_SHOT', target }],
  ['POST /v1/jobs', { type: 'CRON', schedule: '0 3 * * *', target }],
  ['POST /v1/jobs/batch', { jobs: [{ type: 'ONE_SHOT', target }] }],
  ['POST /v1/dags', { key: 'graph', steps }],
  ['POST /v1/dags/graph/runs', {}],
  ['POST /v1/dag-runs', { steps }],
  ['POST /v1/pools', { name: 'own' }],
  ['POST /v1/tokens', { name: 'key', scopes: ['jobs:read'] }],
]

it('refuses what is new until the tenant is declared; what is there goes on', async () => {
  await using node = await httpNode({ auth: { jwtSecret }, engine: { undeclaredTenants: 'refuse' } })
  const [platform, acme] = [await as('*'), await as('acme')]
  for (const [what, body] of comes) {
    const { status, body: problem } = await node.ask(what, body, acme)
    expect([what, status, problem.code]).toEqual([what, 403, 'TENANT_UNDECLARED'])
  }
  const asDefault = await node.ask('POST /v1/jobs', comes[0]![1], platform)
  expect([asDefault.status, asDefault.body.code]).toEqual([403, 'TENANT_UNDECLARED'])
  // What belongs to the installation is not affected.
  expect((await node.ask('POST /v1/pools', { name: 'shared' }, platform)).status).toBe(201)
  const key = { name: 'key', scopes: ['jobs:read'], platform: true }
  expect((await node.ask('POST /v1/tokens', key, platform)).status).toBe(201)

  expect((await node.ask('PUT /v1/tenants/acme', {}, platform)).status).toBe(201)
  for (const [what, body] of comes) {
    const answer = await node.ask(what, body, acme)
    expect([what, answer.status]).toEqual([what, 201])
  }

  const accepting = await node.another({ engine: { undeclaredTenants: 'accept' } })
  const [, [, daily]] = comes as [unknown, [string, unknown]]
  const beta = await as('beta')
  const { status, body: job } = await ask(accepting.url, 'POST /v1/jobs', daily, beta)
  expect(status).toBe(201)
  expect((await node.ask(`POST /v1/jobs/${job.jobId}/trigger`, {}, beta)).status).toBe(201)
  expect((await node.ask('GET /v1/jobs', undefined, beta)).status).toBe(200)
})

it('library mode refuses as well, and a deleted declaration counts at once', async () => {
  const work = defineHandler<object>({ name: 'work' })
  const seen: string[] = []
  await using test = await testCarillon(
    (carillon) => carillon.handle(work, async (ctx) => void seen.push(ctx.tenant)),
    { undeclaredTenants: 'refuse' },
  )
  const { carillon } = test
  const acme = { tenant: 'acme' }
  const undeclared = { code: 'TENANT_UNDECLARED' }
  await expect(carillon.enqueue(work, {}, acme)).rejects.toMatchObject(undeclared)
  await expect(carillon.enqueueMany(work, [{}], acme)).rejects.toMatchObject(undeclared)
  await expect(carillon.schedule(work, {}, { ...acme, every: 'PT1H' })).rejects.toMatchObject(undeclared)
  await expect(carillon.createJob({ ...acme, type: 'ONE_SHOT', target: { handler: 'work' } })).rejects.toMatchObject(
    undeclared,
  )
  await carillon.tenants.put('acme', {})
  await carillon.enqueue(work, {}, acme)
  await until(() => seen.length === 1)
  await until(() =>
    carillon.tenants.delete('acme').then(
      () => true,
      () => false,
    ),
  )
  await expect(carillon.enqueue(work, {}, acme)).rejects.toMatchObject(undeclared)
})

it('is a choice of two', async () => {
  await expect(testCarillon(() => {}, { undeclaredTenants: 'reject' as never })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining('accept, refuse'),
  })
})
