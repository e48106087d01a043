/** The forecast of a node: of active jobs, as their previews have it, of the caller's tenant alone. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Forecasts } from '../../../packages/server/src/forecast/forecasts.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { fitsContract } from '../../support/contract-check.ts'
import { openStore } from '../../support/store.ts'
import { until } from '../../support/until.ts'
import { carillon } from '../cli/cli.ts'
import { type WorkedNode, workedNode } from './worked-node.ts'

let node: WorkedNode

beforeAll(async () => {
  node = await workedNode()
})
afterAll(() => node[Symbol.asyncDispose]())

const as = (tenant: string) => ({ 'carillon-tenant': tenant })
const target = { pool: 'default', handler: 'act' }

const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()

async function create(tenant: string, job: object): Promise<string> {
  const { status, body } = await node.ask('POST /v1/jobs', { target, ...job }, as(tenant))
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body.jobId
}

async function forecast(tenant: string, query = '') {
  const answer = await node.ask(`GET /v1/forecast?${query}`, undefined, as(tenant))
  if (answer.status === 200) fitsContract('getForecast', answer)
  return answer.body
}

it('says what the previews of its jobs say, by hour and by minute', { timeout: 60_000 }, async () => {
  const tenant = 'previewed'
  // Hours away, so that none fires between the questions.
  const now = new Date()
  const daily = `0 ${(now.getUTCHours() + 6) % 24} * * *`
  const cron = (schedule: string, more = {}) => create(tenant, { type: 'CRON', schedule, ...more })
  const jobs = [
    await cron(daily, { name: 'first' }),
    await cron(daily, { name: 'second', timezone: 'Europe/Berlin' }),
    await cron(daily, { name: 'third', jitterSec: 3_000 }),
    await cron(daily, { name: 'fourth', maxFires: 2 }),
    await cron(`${(now.getUTCMinutes() + 30) % 60} * * * *`, { endAt: inHours(5) }),
    await create(tenant, { type: 'INTERVAL', interval: 'PT7H', anchor: inHours(1) }),
    await create(tenant, { type: 'DELAYED', delayMs: 3 * 3_600_000 }),
  ]
  const paused = await cron('* * * * *')
  await node.ask(`POST /v1/jobs/${paused}/pause`, undefined, as(tenant))
  const deleted = await cron('* * * * *')
  await node.ask(`DELETE /v1/jobs/${deleted}`, undefined, as(tenant))
  await create('another', { type: 'CRON', schedule: '* * * * *' })
  const due: number[] = []
  for (const jobId of jobs) {
    const { body } = await node.ask(`GET /v1/jobs/${jobId}/next?count=200`, undefined, as(tenant))
    due.push(...body.fires.map(({ dueAt }: { dueAt: string }) => Date.parse(dueAt)))
  }
  for (const [step, ms] of [
    ['HOUR', 3_600_000],
    ['MINUTE', 60_000],
  ] as const) {
    const answer = await forecast(tenant, `step=${step}`)
    const within = due.filter((at) => at < Date.parse(answer.to))
    const counts = Object.groupBy(within, (at) => new Date(Math.floor(at / ms) * ms).toISOString())
    const expected = Object.entries(counts).map(([at, fires]) => ({ at, fires: fires!.length }))
    expect(answer.buckets).toEqual(expected.sort((a, b) => a.at.localeCompare(b.at)))
    expect(answer).toMatchObject({ step, jobs: 7, leftOut: 0, fires: within.length })
    expect(answer.pools).toMatchObject([{ pool: 'default', fires: within.length }])
  }
  const { collisions } = await forecast(tenant)
  const atThree = collisions.find(
    ({ at }: { at: string }) => new Date(at).getUTCHours() === (now.getUTCHours() + 6) % 24,
  )
  const named = atThree.jobs.map(({ name }: { name: string }) => name).sort()
  expect([atThree.fires, named]).toEqual([2, ['first', 'fourth']])
  const shown = await carillon(['forecast', '--days', '2', '--url', node.url, '--tenant', tenant])
  expect(shown.stdout).toMatch(/fires of 7 jobs from/)
  expect(shown.stdout).toMatch(/00:00Z +2 at once: (first, fourth|fourth, first)/)
  expect((await carillon(['forecast', '--json', '--url', node.url, '--tenant', tenant])).json()[0]).toMatchObject({
    ...{ step: 'MINUTE', jobs: 7 },
  })
})

it('has nothing of another tenant, and nothing of a tenant without jobs', async () => {
  await create('of-one', { type: 'CRON', schedule: '0 * * * *', name: 'secret' })
  const empty = await forecast('of-two')
  expect(empty).toMatchObject({ jobs: 0, fires: 0, buckets: [], pools: [], collisions: [] })
  expect(JSON.stringify(empty)).not.toContain('secret')
})

it('counts the load by what was measured, and the slots of live workers', async () => {
  const tenant = 'measured'
  const [id] = await node.seed(1, { tenant, state: 'SUCCEEDED' })
  await node.sql.query(
    `update carillon.executions set started_at = finished_at - interval '6 minutes' where execution_id = $1`,
    [id],
  )
  await create(tenant, { type: 'CRON', schedule: '0 * * * *' })
  const { pools } = await forecast(tenant, 'step=HOUR&pool=default')
  expect(pools).toMatchObject([{ meanMs: 360_000, slots: 20 }])
  expect(pools[0].buckets[0]).toMatchObject({ fires: 1, busy: 0.1, saturated: false })
  expect((await forecast(tenant, 'pool=none')).pools).toEqual([])
})

it('refuses what lies in the past or too far ahead', async () => {
  const at = (days: number) => encodeURIComponent(new Date(Date.now() + days * 86_400_000).toISOString())
  expect((await forecast('x', `to=${at(-1)}`)).code).toBe('TIME_OUT_OF_RANGE')
  expect((await forecast('x', `to=${at(31)}`)).code).toBe('TIME_OUT_OF_RANGE')
  expect((await forecast('x', `to=${at(2)}&step=MINUTE`)).errors[0].hint).toContain('24 hours by minute')
  expect((await forecast('x', `from=${at(-1)}&to=${at(1)}`)).jobs).toBe(0)
})

it('one that is not ready in time is to be asked for again, and a change is seen before long', async () => {
  await using store = await openStore()
  let now = Date.now()
  const clock = { now: () => now }
  const { database } = store
  const logger = createLogger('silent')
  const impatient = new Forecasts({ database, clock, logger, waitMs: 0 })
  await expect(impatient.of('acme')).rejects.toMatchObject({ code: 'UNAVAILABLE', status: 503 })
  await impatient.stop()
  const forecasts = new Forecasts({ database, clock, logger })
  const first = await forecasts.of('acme')
  expect(await forecasts.of('acme')).toBe(first)
  now += 6_000
  expect(await forecasts.of('acme')).toBe(first)
  forecasts.changed()
  // The old one is given while the next is computed.
  expect(await forecasts.of('acme')).toBe(first)
  await until(async () => {
    now += 1_000
    return (await forecasts.of('acme')) !== first
  })
  await forecasts.stop()
})

it('in library mode', async () => {
  expect(await node.worker.jobs.forecast({ step: 'MINUTE' })).toMatchObject({ step: 'MINUTE' })
})
