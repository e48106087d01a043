/** A worker leases from one node and reports to another: what ended is counted where it was reported, by its handler. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { quickTimes } from '../../support/carillon.ts'
import { ask, type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'
import { HandWorker } from './hand-worker.ts'

let node: HttpNode
let other: string

beforeAll(async () => {
  node = await httpNode({ engine: { ...quickTimes, workerLostMs: 30_000 } })
  other = (await node.another()).url
})
afterAll(() => node?.[Symbol.asyncDispose]())

const metrics = async (url: string): Promise<string> => (await ask(url, 'GET /metrics')).body
const succeeded = 'carillon_attempts_total{handler="h",outcome="SUCCEEDED"} 1'

it('the node that hears of the end looks up what it was', async () => {
  const worker = await HandWorker.register(node.url)
  await node.ask('POST /v1/jobs', { type: 'ONE_SHOT', target: { handler: 'h' } })
  const [held] = (await worker.lease()).body.executions
  await worker.at(other).succeed(held)
  await until(async () => (await metrics(other)).includes(succeeded))
  const [here, there] = await Promise.all([metrics(node.url), metrics(other)])
  expect(here).not.toContain(succeeded)
  expect(here).toContain('carillon_attempts_leased_total{tenant="",pool="default",lane="NORMAL"} 1')
  expect(there).toContain('carillon_executions_ended_total{state="SUCCEEDED"} 1')
  const stats = async () => (await node.ask('GET /v1/stats?handler=h')).body.total
  await until(async () => (await stats()).succeeded === 1)
  expect(await stats()).toMatchObject({ created: 1, started: 1, succeeded: 1 })
})

it('a report that comes too late is counted as stale', async () => {
  const worker = await HandWorker.register(node.url)
  const { jobId } = (await node.ask('POST /v1/jobs', { type: 'ONE_SHOT', target: { handler: 'h' } })).body
  const [held] = (await worker.lease()).body.executions
  expect(held.executionId).toBe(jobId)
  await worker.succeed(held, 1)
  await worker.report({ outcomes: [{ executionId: jobId, fence: held.fence - 1, outcome: 'SUCCEEDED' }] })
  expect(await metrics(node.url)).toContain('carillon_stale_reports_total 1')
})

it('only one node shows what is sampled for the installation, and each looks for leaderless shards', async () => {
  const sampled = async (url: string) => /^carillon_overdue_jobs /m.test(await metrics(url))
  await until(async () => (await sampled(node.url)) !== (await sampled(other)))
  for (const url of [node.url, other]) {
    await until(async () => (await metrics(url)).includes('carillon_leaderless_shards 0'))
  }
})
