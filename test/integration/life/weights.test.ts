/** Shares by the weights of tenants, in what is leased and in what each execution is charged. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { promptTimes } from '../../support/carillon.ts'
import { ask, type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'
import { HandWorker } from '../http/hand-worker.ts'

let node: HttpNode
let sql: pg.Client

beforeAll(async () => {
  node = await httpNode({ engine: promptTimes })
  sql = new pg.Client(node.databaseUrl)
  await sql.connect()
})
afterAll(async () => {
  await sql.end()
  await node[Symbol.asyncDispose]()
})

const as = (tenant: string) => ({ 'carillon-tenant': tenant })

async function must(what: string, body?: unknown, headers?: Record<string, string>) {
  const answer = await node.ask(what, body, headers)
  if (answer.status >= 300) throw new Error(`${what}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

function submit(tenant: string, pool: string, count: number) {
  const jobs = Array.from({ length: count }, () => ({ type: 'ONE_SHOT', target: { pool, handler: 'h' } }))
  return must('POST /v1/jobs/batch', { jobs }, as(tenant))
}

/** Where the tenant's last execution in the pool ends. Nothing is leased there, so all costs are added up from 0. */
async function charged(tenant: string, pool: string): Promise<number> {
  const text = 'select finish from carillon.flows where tenant = $1 and pool = $2'
  const { rows } = await sql.query<{ finish: string }>(text, [tenant, pool])
  return Number(rows[0]?.finish ?? 0)
}

/** The node that is asked knows of a change when it answers, but for the time of a read. */
async function known(tenant: string, cost: number): Promise<void> {
  await must('POST /v1/pools', { name: `known-${tenant}` })
  await until(async () => {
    await sql.query('delete from carillon.flows where tenant = $1', [tenant])
    await submit(tenant, `known-${tenant}`, 1)
    return (await charged(tenant, `known-${tenant}`)) === cost
  })
}

it('two tenants of weights 3 and 1 with backlogs are leased 3 to 1, at every point', async () => {
  await must('PUT /v1/tenants/three', { weight: 3 })
  await known('three', 21_845)
  const { workerId } = await must('POST /v1/workers', {
    ...{ name: 'by hand', pools: [{ pool: 'default', handlers: ['h'], slots: 5_000 }] },
  })
  const worker = new HandWorker(node.url, workerId)
  const tenants = new Map<string, string>()
  const counts: Record<string, number> = { three: 0, one: 0 }
  let most = 0
  // Some come before anything is leased, others meanwhile.
  for (let round = 0; round < 4; round++) {
    for (const [tenant, count] of [
      ['one', 1_000],
      ['three', 1_000],
    ] as const) {
      for (const { jobId } of (await submit(tenant, 'default', count)).items) tenants.set(jobId, tenant)
    }
    for (let i = 0; i < 20; i++) {
      const { body } = await worker.lease({ slots: 50 })
      expect(body.executions).toHaveLength(50)
      for (const { executionId } of body.executions) counts[tenants.get(executionId)!]!++
      most = Math.max(most, Math.abs(counts.three! / 3 - counts.one!))
    }
  }
  expect(counts.three! + counts.one!).toBe(4_000)
  // One execution of each: what is added to the larger of the two when its turn has just been.
  expect(most).toBeLessThanOrEqual(1 + 1 / 3 + 0.1)
  await sql.query('delete from carillon.ready')
  await worker.leave()
}, 120_000)

describe('a tenant of weight 1,000 is charged 66 instead of 65,536', () => {
  const tenant = 'thousand'
  const part = 66
  const target = (pool: string) => ({ pool, handler: 'h' })
  const mine = (what: string, body?: unknown) => must(what, body, as(tenant))

  beforeAll(async () => {
    await must('PUT /v1/tenants/thousand', { weight: 1_000 })
    await known(tenant, part)
  })

  /** In a pool of its own, so that nothing else is charged there. */
  const ways: Record<string, [(pool: string) => Promise<unknown>, number]> = {
    'a submission': [(pool) => mine('POST /v1/jobs', { type: 'ONE_SHOT', target: target(pool) }), 1],
    'a batch': [(pool) => submit(tenant, pool, 3), 3],
    'what is fired': [
      (pool) =>
        mine('POST /v1/jobs', {
          ...{ type: 'ONE_SHOT', runAt: new Date(Date.now() + 300).toISOString(), target: target(pool) },
        }),
      1,
    ],
    'a submission of a caller’s transaction': [
      (pool) => sql.query(`select carillon.enqueue('h', '{}', tenant => $1, pool => $2)`, [tenant, pool]),
      1,
    ],
    'a trigger': [
      async (pool) => {
        const { jobId } = await mine('POST /v1/jobs', { type: 'CRON', schedule: '0 3 1 1 *', target: target(pool) })
        await mine(`POST /v1/jobs/${jobId}/trigger`, {})
      },
      1,
    ],
    'a backfill': [
      async (pool) => {
        const { jobId } = await mine('POST /v1/jobs', { type: 'CRON', schedule: '0 * * * *', target: target(pool) })
        const hour = 3_600_000
        const to = new Date(Math.floor(Date.now() / hour) * hour - 1_000)
        const from = new Date(to.getTime() - 2 * hour)
        await mine(`POST /v1/jobs/${jobId}/backfill`, { from: from.toISOString(), to: to.toISOString() })
      },
      2,
    ],
    'a replay': [
      async (pool) => {
        const { jobId } = await mine('POST /v1/jobs', { type: 'ONE_SHOT', target: target(pool) })
        await mine(`POST /v1/executions/${jobId}/cancel`, {})
        await mine(`POST /v1/executions/${jobId}/retry`, {})
      },
      2,
    ],
    'a step': [
      async (pool) => {
        const steps = [{ name: 'a', target: target(pool) }]
        await mine('POST /v1/dag-runs', { steps })
      },
      1,
    ],
    'a hand-over, and a retry': [
      async (pool) => {
        const worker = await HandWorker.register(node.url, { pools: [pool] })
        const leasing = worker.lease({ pool })
        await mine('POST /v1/jobs', {
          ...{ type: 'ONE_SHOT', target: target(pool) },
          retryPolicy: { maxAttempts: 2, backoff: 'FIXED', initialDelayMs: 0, jitter: 0 },
        })
        const [{ executionId, fence }] = (await leasing).body.executions
        expect(await charged(tenant, pool)).toBe(part)
        const error = { name: 'Error', message: 'once more' }
        await worker.report({ outcomes: [{ executionId, fence, outcome: 'FAILED', error }] })
      },
      2,
    ],
  }

  it.each(Object.entries(ways))('%s', async (what, [come, count]) => {
    const pool = what.replaceAll(/\W+/g, '-')
    await must('POST /v1/pools', { name: pool })
    await come(pool)
    await until(async () => (await charged(tenant, pool)) >= count * part)
    expect(await charged(tenant, pool)).toBe(count * part)
  })
})

it('a change is heard by the other nodes, and so is the end of a declaration', async () => {
  const second = await node.another()
  await must('POST /v1/pools', { name: 'heard' })
  const costAtSecond = async () => {
    const before = await charged('changing', 'heard')
    const job = { type: 'ONE_SHOT', target: { pool: 'heard', handler: 'h' } }
    expect((await ask(second.url, 'POST /v1/jobs', job, as('changing'))).status).toBe(201)
    return (await charged('changing', 'heard')) - before
  }
  expect(await costAtSecond()).toBe(65_536)
  let tries = 0
  // A node that has just come is told of changes once the others know of it.
  await until(async () => {
    await must('PUT /v1/tenants/changing', { weight: 1_000, description: `${tries++}` })
    return (await costAtSecond()) === 66
  })
  await must('PUT /v1/tenants/changing', { weight: 2 })
  await until(async () => (await costAtSecond()) === 32_768)
  await sql.query(`delete from carillon.ready`)
  await must('DELETE /v1/tenants/changing')
  await until(async () => (await costAtSecond()) === 65_536)
})
