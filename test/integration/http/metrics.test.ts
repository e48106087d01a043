/** What a node counts of real work, and who sees the names in it. */
import { createWorker, defineHandler, implementHandler, type Worker } from '@carillon/sdk'
import { createApiKey } from '@carillon/server/administration'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes } from '../../support/carillon.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'

let node: HttpNode
let worker: Worker
const tokens: Record<'work' | 'metrics' | 'tenant' | 'read', string> = { work: '', metrics: '', tenant: '', read: '' }
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

const greet = defineHandler<unknown>({ name: 'greet', pool: 'greeters' })
const fail = defineHandler<unknown>({ name: 'fail', pool: 'greeters' })

beforeAll(async () => {
  node = await httpNode({ engine: quickTimes, auth: {}, metricsPort: 0 })
  const make = async (scopes: Parameters<typeof createApiKey>[1]['scopes'], tenant: string | null) =>
    (await createApiKey(node.databaseUrl, { name: 'of a test', tenant, scopes })).key
  tokens.work = await make(['work', 'jobs:read', 'jobs:write', 'admin'], null)
  tokens.metrics = await make(['metrics:read'], null)
  tokens.tenant = await make(['metrics:read', 'jobs:read', 'jobs:write'], 'acme')
  tokens.read = await make(['jobs:read'], null)
  worker = createWorker({
    urls: [node.url],
    token: tokens.work,
    handlers: [
      implementHandler(greet, async () => 'hello', { concurrency: 5 }),
      implementHandler(fail, async () => Promise.reject(new TypeError('no')), { concurrency: 5 }),
    ],
  })
  await worker.start()
})
afterAll(async () => {
  await worker?.stop({ drainSec: 1 })
  await node?.[Symbol.asyncDispose]()
})

const metrics = async (token?: string) => (await node.ask('GET /metrics', undefined, token ? bearer(token) : {})).body
const port = async (path: string) => fetch(`${node.node.metricsUrl}${path}`)
const whole = () => metrics(tokens.metrics)

async function submit(handler: string, more: object = {}, headers: Record<string, string> = {}) {
  const body = { type: 'ONE_SHOT', target: { pool: 'greeters', handler }, ...more }
  return node.ask('POST /v1/jobs', body, { ...bearer(tokens.tenant), ...headers })
}

describe('figures of executions', () => {
  it('are counted from their creation to their end', async () => {
    for (let i = 0; i < 3; i++) expect(await submit('greet')).toMatchObject({ status: 201 })
    await submit('fail', { retryPolicy: { maxAttempts: 2, initialDelayMs: 1 } })
    await until(async () => /^carillon_dead_letters_total\{handler="fail"\} 1$/m.test(await whole()))
    const text = await whole()
    for (const line of [
      'carillon_executions_created_total{origin="SUBMIT"} 4',
      'carillon_attempts_total{handler="greet",outcome="SUCCEEDED"} 3',
      'carillon_attempts_total{handler="fail",outcome="FAILED"} 2',
      'carillon_attempt_seconds_count{handler="greet"} 3',
      'carillon_executions_ended_total{state="SUCCEEDED"} 3',
      'carillon_executions_ended_total{state="DEAD"} 1',
      'carillon_attempts_leased_total{tenant="",pool="greeters",lane="NORMAL"} 5',
      'carillon_pick_up_seconds_count{tenant="",pool="greeters",lane="NORMAL"} 4',
      'carillon_leaderless_shards 0',
      'carillon_database_waiting_statements 0',
    ]) {
      expect(text).toContain(`\n${line}\n`)
    }
    expect(text).toMatch(/^carillon_clock_offset_seconds -?[\d.e-]+$/m)
    expect(text).toMatch(/^carillon_database_connections\{state="idle"\} [1-9]/m)
    expect(text).toMatch(/^carillon_worker_sessions [1-9]/m)
    expect(text).toMatch(/^carillon_duty_seconds_count\{duty="sweeper"\} [1-9]/m)
  })

  it('of schedules have their lateness', async () => {
    const job = { name: 'tick', type: 'INTERVAL', interval: 'PT1S', target: { pool: 'greeters', handler: 'greet' } }
    const { jobId } = (await node.ask('POST /v1/jobs', job, bearer(tokens.tenant))).body
    await until(async () => /^carillon_fires_total [1-9]/m.test(await whole()))
    await node.ask(`DELETE /v1/jobs/${jobId}`, undefined, bearer(tokens.tenant))
    const text = await whole()
    const fires = Number(/^carillon_fires_total (\d+)$/m.exec(text)![1])
    expect(text).toContain(`\ncarillon_fire_lateness_seconds_count ${fires}\n`)
    expect(text).toMatch(/^carillon_fires_on_time_total \d+$/m)
    expect(text).toMatch(/^carillon_fire_cycle_seconds_count [1-9]/m)
    expect(text).toMatch(/^carillon_executions_created_total\{origin="SCHEDULE"\} [1-9]/m)
  })

  it('count what was refused as a repetition, cancelled and waiting', async () => {
    const key = { 'idempotency-key': 'once' }
    const later = { type: 'DELAYED', delayMs: 3_600_000 }
    expect((await submit('greet', later, key)).status).toBe(201)
    expect((await submit('greet', later, key)).status).toBe(200)
    const dedupe = { dedupe: { key: 'k', windowSec: 60 } }
    for (let i = 0; i < 2; i++) await submit('greet', { ...later, ...dedupe })
    await node.ask('POST /v1/pools/greeters/pause', undefined, bearer(tokens.work))
    const { jobId } = (await submit('greet', { priority: 'HIGH' })).body
    const ready = 'carillon_executions{where="ready",tenant="",pool="greeters",lane="HIGH"} 1'
    await until(async () => (await whole()).includes(`\n${ready}\n`))
    expect(await whole()).toMatch(/^carillon_oldest_execution_seconds\{where="ready",.*lane="HIGH"\} \d/m)
    await node.ask(`POST /v1/executions/${jobId}/cancel`, undefined, bearer(tokens.tenant))
    await until(async () => (await whole()).includes('\ncarillon_executions_ended_total{state="CANCELLED"} 1\n'))
    const text = await whole()
    expect(text).toContain('\ncarillon_duplicates_refused_total{kind="IDEMPOTENCY_KEY"} 1\n')
    expect(text).toContain('\ncarillon_duplicates_refused_total{kind="DEDUPE"} 1\n')
    await until(async () => !(await whole()).includes(ready))
  })
})

describe('names of tenants, pools and handlers', () => {
  it.each([['no token'], ['a token without the scope'], ['a token of a tenant']] as const)(
    'are not shown to %s',
    async (who) => {
      const token = {
        'no token': undefined,
        'a token without the scope': tokens.read,
        'a token of a tenant': tokens.tenant,
      }[who]
      const text = await metrics(token)
      expect(text).not.toMatch(/greet|acme|tenant=/)
      expect(text).toContain('\ncarillon_attempts_total{outcome="FAILED"} 2\n')
      expect(text).toMatch(/^carillon_attempt_seconds_bucket\{le="\+Inf"\} [1-9]/m)
    },
  )

  it('are shown on a port of its own, where nothing else is', async () => {
    const answer = await port('/metrics')
    expect(answer.headers.get('content-type')).toContain('text/plain')
    expect(await answer.text()).toContain('handler="greet"')
    expect(await (await port('/healthz')).text()).toBe('ok\n')
    expect((await port('/v1/jobs')).status).toBe(404)
  })

  it('a token that is none is refused', async () => {
    expect(await node.ask('GET /metrics', undefined, bearer('crl_nonsense'))).toMatchObject({ status: 401 })
  })
})
