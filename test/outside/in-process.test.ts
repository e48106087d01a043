/** Library mode has what HTTP has: one handler object, lists, pools, events, verify, replay, health, metrics, targets. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClient, createWorker, implementHandler } from '@carillon/sdk'
import { createCarillon, defineHandler } from '@carillon/server'
import { createTestCarillon } from '@carillon/server/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestCarillon, testCarillon } from '../support/carillon.ts'
import { httpNode } from '../support/http-node.ts'

const greet = defineHandler<{ name: string }>({ name: 'greet' })
let failing = true
const greeting = implementHandler(greet, async (ctx) => {
  if (ctx.payload.name === 'nobody' && failing) throw new Error('there is nobody')
  return `Hello ${ctx.payload.name}`
})
const server = createServer((request, response) => response.end(JSON.stringify({ seen: request.url })))
const functionArn = 'arn:aws:lambda:eu-west-1:123456789012:function:hello'
const keys = { accessKeyId: 'env:HOME', secretAccessKey: 'env:HOME' }
let at: TestCarillon
let port: number

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
  at = await testCarillon((carillon) => carillon.handle(greeting), {
    targets: {
      ...{ allow: ['127.0.0.1'], shell: { say: '/bin/echo' } },
      lambda: { functions: [functionArn], credentials: keys, endpoint: `http://127.0.0.1:${port}` },
    },
  })
})
afterAll(async () => {
  await at[Symbol.asyncDispose]()
  server.close()
})

test('one handler object runs, is enqueued and scheduled: in library mode, by a worker and a client, in a test', {
  timeout: 120_000,
}, async () => {
  const { carillon } = at
  expect(await (await carillon.enqueue(greeting, { name: 'Ada' })).result()).toBe('Hello Ada')
  expect(await carillon.schedule(greeting, { name: 'Ada' }, { key: 'one', cron: '0 3 * * *' })).toMatchObject({
    key: 'one',
  })
  const node = await httpNode()
  const worker = createWorker({ urls: node.url, handlers: [greeting] })
  const client = createClient({ urls: node.url })
  await worker.start()
  expect(await (await client.enqueue(greeting, { name: 'Bob' })).result({ waitMs: 20_000 })).toBe('Hello Bob')
  await worker.stop()
  await client.close()
  await node[Symbol.asyncDispose]()
  await using virtual = await createTestCarillon({ now: '2030-01-01T00:00:00Z', handlers: [greeting] })
  await virtual.schedule(greeting, { name: 'Cy' }, { cron: '0 3 * * *' })
  await virtual.advance('P2D')
  expect(virtual.runs()).toHaveLength(2)
})

test('lists, explain, dead letters, replay, pools, workers, audit, verify, health and metrics', async () => {
  const { carillon } = at
  const once = { retryPolicy: { maxAttempts: 1 } }
  const dead = await carillon.enqueue(greeting, { name: 'nobody' }, once)
  expect(await dead.ended()).toMatchObject({ state: 'DEAD' })
  const range = { from: new Date(Date.now() - 60_000).toISOString() }
  expect((await carillon.executions.listDead(range)).items).toMatchObject([{ executionId: dead.executionId }])
  expect((await carillon.executions.explain(dead.executionId)).summary).toContain('DEAD')
  failing = false
  await carillon.replay(dead.executionId)
  expect(await dead.ended()).toMatchObject({ state: 'SUCCEEDED', result: 'Hello nobody' })
  expect(await carillon.executions.replayDead({ filter: range, dryRun: true })).toMatchObject({ count: 0 })
  await carillon.pools.create('mine')
  await carillon.pools.pause('mine')
  expect((await carillon.pools.list()).items).toContainEqual(expect.objectContaining({ name: 'mine', paused: true }))
  await carillon.pools.resume('mine')
  expect(await carillon.pools.scaling('mine')).toMatchObject({ ready: 0, running: 0 })
  await carillon.limits.put('acct', { concurrency: 5, rate: { count: 10, perSec: 1 } })
  expect(await carillon.limits.get('acct')).toMatchObject({ tenant: null, concurrency: 5, version: 1, usage: [] })
  expect((await carillon.limits.list()).items).toMatchObject([{ name: 'acct' }])
  await carillon.limits.delete('acct', { version: 1 })
  expect(await carillon.limits.get('acct')).toBeNull()
  await carillon.tenants.put('acme', { weight: 3 })
  expect(await carillon.tenants.get('acme')).toMatchObject({ weight: 3, version: 1 })
  expect(await carillon.tenants.usage('acme')).toMatchObject({ tenant: 'acme', days: [] })
  await carillon.tenants.delete('acme', { version: 1 })
  expect((await carillon.tenants.list()).items).toEqual([])
  expect((await carillon.installation.workers()).items.length).toBeGreaterThan(0)
  expect((await carillon.installation.audit()).items.length).toBeGreaterThan(0)
  expect(await carillon.installation.health()).toMatchObject({ status: 'ok', checks: { database: 'ok' } })
  expect(await carillon.installation.metrics()).toContain('# TYPE carillon_')
  expect(await carillon.installation.stats({ step: 'HOUR' })).toMatchObject({ step: 'HOUR', pools: expect.any(Array) })
  expect((await carillon.verify(range)).verdict).toBe('CLEAN')
  const preview = await carillon.jobs.preview({ type: 'CRON', schedule: '0 3 * * *', count: 2 })
  expect(preview.fires).toHaveLength(2)
})

test('built-in targets run in process, by the rules of the operator', async () => {
  const { carillon } = at
  const request = await carillon.createJob({
    type: 'ONE_SHOT',
    target: { http: { url: `http://127.0.0.1:${port}/hook` } },
  })
  const said = await carillon.createJob({ type: 'ONE_SHOT', target: { shell: { command: 'say', args: ['hi'] } } })
  const called = await carillon.createJob({ type: 'ONE_SHOT', target: { lambda: { functionArn } } })
  const ended = (executionId: string) =>
    carillon.call('getExecution', { params: { executionId }, query: { waitSec: 20 } })
  expect(await ended(request.jobId)).toMatchObject({ state: 'SUCCEEDED' })
  expect(await ended(said.jobId)).toMatchObject({ state: 'SUCCEEDED' })
  const seen = `/2015-03-31/functions/${encodeURIComponent(functionArn)}/invocations`
  expect(await ended(called.jobId)).toMatchObject({ state: 'SUCCEEDED', result: { status: 200, body: { seen } } })
  const secret = { http: { url: 'http://10.0.0.1/' } }
  await expect(carillon.createJob({ type: 'ONE_SHOT', target: secret })).rejects.toMatchObject({
    code: 'TARGET_NOT_ALLOWED',
  })
  const tenantSecrets = { acme: ['env:ACME__*'] }
  const globex = { databaseUrl: at.databaseUrl, tenant: 'globex', targets: { tenantSecrets }, logLevel: 'error' }
  const other = await createCarillon(globex)
  const hook = { http: { url: { secretRef: 'env:ACME__HOOK' } } }
  await expect(other.createJob({ type: 'ONE_SHOT', target: hook })).rejects.toMatchObject({
    code: 'TARGET_NOT_ALLOWED',
    errors: [{ pointer: '/target/http/url' }],
  })
  await other.stop()
  const quiet = await createCarillon({ databaseUrl: at.databaseUrl, targets: { http: false }, logLevel: 'error' })
  await expect(quiet.createJob({ type: 'ONE_SHOT', target: secret })).rejects.toMatchObject({
    code: 'TARGET_NOT_ALLOWED',
  })
  await quiet.stop()
})

test('handle refuses what has its code already, and what has none', () => {
  const { carillon } = at
  expect(() => carillon.handle(greeting)).toThrow(/before start/)
})
