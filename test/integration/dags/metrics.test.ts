/** What a node counts of runs of graphs and of their steps, and who sees the names in it. */
import { createClient, createWorker, defineHandler, implementHandler } from '@carillon/sdk'
import { createApiKey } from '@carillon/server/administration'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { promptTimes } from '../../support/carillon.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'

let node: HttpNode
let worker: ReturnType<typeof createWorker>
let client: ReturnType<typeof createClient>
const tokens = { tenant: '', metrics: '', work: '' }
const broken = new Set<string>()

beforeAll(async () => {
  node = await httpNode({ engine: promptTimes, auth: {}, metricsPort: 0 })
  const make = async (scopes: Parameters<typeof createApiKey>[1]['scopes'], tenant: string | null) =>
    (await createApiKey(node.databaseUrl, { name: 'of a test', tenant, scopes })).key
  tokens.tenant = await make(['metrics:read', 'jobs:read', 'jobs:write'], 'acme')
  tokens.work = await make(['work'], null)
  tokens.metrics = await make(['metrics:read'], null)
  const work = implementHandler(defineHandler<unknown>({ name: 'work' }), ({ payload, dag }) => {
    if (broken.has(dag?.step ?? '')) throw new Error('it is broken')
    return payload
  })
  worker = createWorker({ urls: [node.url], token: tokens.work, handlers: [work] })
  await worker.start()
  client = createClient({ urls: [node.url], token: tokens.tenant })
})
afterAll(async () => {
  await client?.close()
  await worker?.stop({ drainSec: 1 })
  await node?.[Symbol.asyncDispose]()
})

const once = { maxAttempts: 1 }
const target = { target: { handler: 'work' }, retryPolicy: once }
const waitMs = 60_000
const metrics = async (token: string): Promise<string> =>
  (await node.ask('GET /metrics', undefined, { authorization: `Bearer ${token}` })).body

/** The value of a series; null: it is not there. */
async function value(series: string, token = tokens.metrics): Promise<number | null> {
  const line = (await metrics(token)).split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined ? null : Number(line.slice(series.length + 1))
}

const comesTo = (series: string, wanted: number) => until(async () => (await value(series)) === wanted)
const counts = (name: string, labels = '') => `carillon_dag_${name}${labels && `{${labels}}`}`

it('counters are there before anything has happened', async () => {
  expect(await value(counts('runs_started_total', 'origin="REQUEST"'))).toBe(0)
  expect(await value(counts('advance_seconds_count'))).toBe(0)
  expect(await value('carillon_after_executions_total')).toBe(0)
  await comesTo(counts('steps', 'where="released"'), 0)
})

it('runs, steps and why they were skipped are counted, and again after a retry', async () => {
  broken.add('load')
  await client.dags.create({
    key: 'nightly',
    steps: [
      { name: 'extract', ...target },
      { name: 'load', ...target, dependsOn: ['extract'] },
      { name: 'report', ...target, dependsOn: ['load'] },
      { name: 'never', ...target, dependsOn: ['extract'], when: 'results.extract == 1' },
    ],
  })
  const { runId } = await client.dags.run('nightly')
  expect(await client.dagRuns.wait(runId, { waitMs })).toMatchObject({ state: 'FAILED' })
  await comesTo(counts('runs_ended_total', 'dag="nightly",state="FAILED"'), 1)
  expect(await value(counts('runs_started_total', 'origin="REQUEST"'))).toBe(1)
  expect(await value(counts('steps_released_total'))).toBe(2)
  expect(await value(counts('steps_skipped_total', 'reason="DEPENDENCY_FAILED"'))).toBe(1)
  expect(await value(counts('steps_skipped_total', 'reason="CONDITION_FALSE"'))).toBe(1)
  expect(await value(counts('run_seconds_count', 'dag="nightly"'))).toBe(1)
  await comesTo(counts('advance_seconds_count'), 1)

  // What it depends on ended long ago; it has waited only since the retry.
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  broken.clear()
  await client.dagRuns.retry(runId)
  expect(await client.dagRuns.wait(runId, { waitMs })).toMatchObject({ state: 'SUCCEEDED' })
  await comesTo(counts('runs_ended_total', 'dag="nightly",state="SUCCEEDED"'), 1)
  expect(await value(counts('runs_started_total', 'origin="RETRY"'))).toBe(1)
  await comesTo(counts('advance_seconds_count'), 3)
  expect(await value(counts('advance_seconds_sum'))).toBeLessThan(1.5)
})

it('items are counted by themselves, and their run is part of the run that started it', async () => {
  const before = (await value(counts('runs_started_total', 'origin="REQUEST"')))!
  const { runId } = await client.dagRuns.start({
    payload: { list: [1, 2, 3] },
    steps: [
      { name: 'each', ...target, forEach: 'payload.list' },
      { name: 'inner', target: { dag: 'nightly' }, retryPolicy: once, dependsOn: ['each'] },
    ],
  })
  expect(await client.dagRuns.wait(runId, { waitMs })).toMatchObject({ state: 'SUCCEEDED' })
  await comesTo(counts('runs_ended_total', 'dag="",state="SUCCEEDED"'), 1)
  expect(await value(counts('items_total'))).toBe(3)
  expect(await value(counts('runs_started_total', 'origin="REQUEST"'))).toBe(before + 1)
  expect(await value(counts('runs_started_total', 'origin="EXECUTION"'))).toBe(1)
  await comesTo(counts('runs_ended_total', 'dag="nightly",state="SUCCEEDED"'), 2)
})

it('what waits is sampled: runs, steps, signals', async () => {
  const steps = [
    { name: 'approve', waitFor: 'SIGNAL' as const },
    { name: 'deploy', ...target, dependsOn: ['approve'] },
    { name: 'tell', ...target, dependsOn: ['deploy'] },
  ]
  const { runId } = await client.dagRuns.start({ steps })
  const other = await client.dagRuns.start({ steps })
  await comesTo(counts('steps', 'where="signal"'), 2)
  await comesTo(counts('steps', 'where="blocked"'), 4)
  await comesTo(counts('runs', 'state="running"'), 2)
  expect(await value('carillon_oldest_dag_run_seconds')).toBeGreaterThan(0)

  await client.dagRuns.pause(runId)
  await client.dagRuns.signal(runId, 'approve')
  await comesTo(counts('runs', 'state="paused"'), 1)
  await comesTo(counts('steps', 'where="paused"'), 1)
  const advanced = await value(counts('advance_seconds_count'))
  await client.dagRuns.resume(runId)
  await client.dagRuns.wait(runId, { waitMs })
  // The first of the two had waited for its run to be resumed, which says nothing of us.
  await comesTo(counts('advance_seconds_count'), advanced! + 1)

  await client.dagRuns.cancel(other.runId)
  await comesTo(counts('runs_ended_total', 'dag="",state="CANCELLED"'), 1)
  await comesTo(counts('runs', 'state="running"'), 0)
  await comesTo(counts('steps', 'where="signal"'), 0)
})

it('executions that follow those of other jobs are counted', async () => {
  const post = (path: string, body: object) =>
    node.ask(`POST /v1/jobs${path}`, body, { authorization: `Bearer ${tokens.tenant}` })
  await post('', { key: 'load', type: 'CRON', schedule: '0 3 1 1 *', ...target })
  await post('', { key: 'report', type: 'AFTER', after: { job: 'load' }, ...target })
  expect(await post('/load/trigger', {})).toMatchObject({ status: 201 })
  await comesTo('carillon_after_executions_total', 1)
})

it('graphs are named only to tokens that may see all names', async () => {
  expect(await metrics(tokens.metrics)).toContain('dag="nightly"')
  const shown = await metrics(tokens.tenant)
  expect(shown).not.toContain('nightly')
  expect(shown).toMatch(/^carillon_dag_runs_ended_total\{state="SUCCEEDED"\} \d+$/m)
  expect(await (await fetch(`${node.node.metricsUrl}/metrics`)).text()).toContain('dag="nightly"')
})
