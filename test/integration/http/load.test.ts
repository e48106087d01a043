/** What waits and runs, by pool and lane. */
import { expect, it } from 'vitest'
import { httpNode } from '../../support/http-node.ts'
import { jwtSecret, token } from './auth-server.ts'
import { HandWorker } from './hand-worker.ts'

async function tokenOf(tenant: string): Promise<Record<string, string>> {
  return { authorization: `Bearer ${await token({ tenant, scope: 'jobs:read jobs:write work admin' })}` }
}

it('shows a tenant what waits and runs in its pools, by lane, and nothing of another tenant', async () => {
  await using node = await httpNode({ auth: { jwtSecret } })
  const [acme, rival] = [await tokenOf('acme'), await tokenOf('rival')]
  await node.ask('POST /v1/pools', { name: 'email' }, acme)
  await node.ask('POST /v1/pools', { name: 'secret-plans' }, rival)
  const submit = (priority: string) =>
    node.ask(
      'POST /v1/jobs',
      { name: 'mail', type: 'ONE_SHOT', target: { handler: 'h', pool: 'email' }, priority },
      acme,
    )
  for (const priority of ['LOW', 'CRITICAL', 'LOW']) expect((await submit(priority)).status).toBe(201)
  const { body } = await node.ask('GET /v1/load', undefined, acme)
  expect(body.complete).toBe(true)
  expect(body.pools.map(({ name }: { name: string }) => name)).not.toContain('secret-plans')
  expect(body.pools.find(({ name }: { name: string }) => name === 'email')).toMatchObject({
    ...{ ready: 3, running: 0, retrying: 0, workers: 0, slots: 0, paused: false, oldestReadyMs: expect.any(Number) },
    lanes: [
      { priority: 'CRITICAL', ready: 1, running: 0 },
      { priority: 'LOW', ready: 2, running: 0 },
    ],
  })

  const worker = await HandWorker.register(node.url, { pools: ['email'], headers: acme })
  await worker.lease({ pool: 'email', slots: 2 })
  const after = await node.ask('GET /v1/load', undefined, acme)
  expect(after.body.pools.find(({ name }: { name: string }) => name === 'email')).toMatchObject({
    ...{ ready: 1, running: 2, workers: 1, slots: 10 },
    lanes: [
      { priority: 'CRITICAL', ready: 0, running: 1, oldestReadyMs: null },
      { priority: 'LOW', ready: 1, running: 1 },
    ],
  })
})
