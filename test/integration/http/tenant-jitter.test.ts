/** The default jitter of a tenant: who gets it, and that it stays with the job. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'

let node: HttpNode
beforeAll(async () => {
  node = await httpNode()
})
afterAll(() => node?.[Symbol.asyncDispose]())

const ask = (what: string, body?: unknown, headers = {}) =>
  node.ask(what, body, { 'carillon-tenant': 'acme', ...headers })
const declare = (jitterSec: number | null) => ask('PUT /v1/tenants/acme', { jitterSec })
const daily = { type: 'CRON', schedule: '0 3 * * *', target: { handler: 'h' } }
const put = async (job: object) => (await ask('POST /v1/jobs', job)).body
const jitterOf = ({ jitterSec, jitterBy }: { jitterSec: number; jitterBy: string }) => [jitterSec, jitterBy]

describe('the default jitter of a tenant', () => {
  it('is declared, shown, and taken back by leaving it out', async () => {
    expect((await declare(600)).body).toMatchObject({ jitterSec: 600, version: 1 })
    expect((await declare(600)).body).toMatchObject({ jitterSec: 600, version: 1 })
    expect((await ask('PUT /v1/tenants/acme', {})).body).toMatchObject({ jitterSec: null, version: 2 })
    for (const jitterSec of [0, -1, 1.5, '60']) {
      expect((await ask('PUT /v1/tenants/acme', { jitterSec })).status).toBe(422)
    }
  })

  it('is given to schedules that say none', async () => {
    await declare(600)
    expect(jitterOf(await put(daily))).toEqual([600, 'TENANT'])
    expect(jitterOf(await put({ ...daily, jitterSec: 5 }))).toEqual([5, 'JOB'])
    expect(jitterOf(await put({ ...daily, jitterSec: 0 }))).toEqual([0, 'JOB'])
    const hourly = { type: 'INTERVAL', interval: 'PT1H', target: { handler: 'h' } }
    expect(jitterOf(await put(hourly))).toEqual([600, 'TENANT'])
    const later = { type: 'DELAYED', delayMs: 3_600_000, target: { handler: 'h' } }
    expect(jitterOf(await put(later))).toEqual([0, 'JOB'])
    const first = await put({ ...daily, key: 'first' })
    expect(jitterOf(await put({ type: 'AFTER', after: { job: 'first' }, target: { handler: 'h' } }))).toEqual([
      0,
      'JOB',
    ])
    const { body } = await ask('POST /v1/jobs/batch', {
      jobs: [
        { ...daily, key: undefined },
        { ...daily, jitterSec: 7 },
      ],
    })
    const made = await Promise.all(
      body.items.map(async ({ jobId }: { jobId: string }) => (await ask(`GET /v1/jobs/${jobId}`)).body),
    )
    expect(made.map(jitterOf)).toEqual([
      [600, 'TENANT'],
      [7, 'JOB'],
    ])
    const elsewhere = await ask('POST /v1/jobs', daily, { 'carillon-tenant': 'other' })
    expect(jitterOf(elsewhere.body)).toEqual([0, 'JOB'])
    const { fires } = (await ask(`GET /v1/jobs/${first.jobId}/next`)).body
    expect(fires[0].dueAt).toBe(first.nextFireAt)
  })

  it('is cut to what is smaller than the period', async () => {
    await declare(600)
    expect(jitterOf(await put({ ...daily, schedule: '* * * * *' }))).toEqual([59, 'TENANT'])
    const often = (interval: string) => put({ type: 'INTERVAL', interval, target: { handler: 'h' } })
    expect(jitterOf(await often('PT1.5S'))).toEqual([1, 'TENANT'])
    expect(jitterOf(await often('PT1S'))).toEqual([0, 'JOB'])
    const said = await ask('POST /v1/jobs', { ...daily, schedule: '* * * * *', jitterSec: 600 })
    expect(said.status).toBe(422)
  })

  it('stays with a job when the tenant’s changes, until its schedule does', async () => {
    await declare(600)
    const job = await put({ ...daily, key: 'kept' })
    await declare(900)
    const again = await ask('POST /v1/jobs', { ...daily, key: 'kept' })
    expect(again).toMatchObject({ status: 200, body: { jitterSec: 600, version: 1, nextFireAt: job.nextFireAt } })
    const renamed = await ask('PUT /v1/jobs/kept', { ...daily, key: 'kept', name: 'renamed' })
    expect(renamed.body).toMatchObject({ name: 'renamed', jitterSec: 600, jitterBy: 'TENANT', version: 2 })
    const patched = await ask('PATCH /v1/jobs/kept', { priority: 'LOW' })
    expect(patched.body).toMatchObject({ jitterSec: 600, jitterBy: 'TENANT', version: 3 })
    const often = await ask('PATCH /v1/jobs/kept', { schedule: '*/5 * * * *' })
    expect(jitterOf(often.body)).toEqual([299, 'TENANT'])
    expect(jitterOf((await ask('PATCH /v1/jobs/kept', { schedule: '0 4 * * *' })).body)).toEqual([900, 'TENANT'])
    const own = await ask('PATCH /v1/jobs/kept', { jitterSec: 30 })
    expect(jitterOf(own.body)).toEqual([30, 'JOB'])
    expect(jitterOf((await ask('PATCH /v1/jobs/kept', { priority: 'HIGH' })).body)).toEqual([30, 'JOB'])
    const unsaid = await ask('PUT /v1/jobs/kept', { ...daily, key: 'kept', schedule: '0 4 * * *' })
    expect(jitterOf(unsaid.body)).toEqual([900, 'TENANT'])
    await declare(null)
    expect(jitterOf((await ask('PATCH /v1/jobs/kept', { priority: 'LOW' })).body)).toEqual([900, 'TENANT'])
    expect(jitterOf((await ask('PATCH /v1/jobs/kept', { schedule: '0 5 * * *' })).body)).toEqual([0, 'JOB'])
  })

  it('does not move jobs from before there was one', async () => {
    await declare(null)
    const before = await put({ ...daily, key: 'older' })
    await declare(600)
    const again = await ask('POST /v1/jobs', { ...daily, key: 'older' })
    expect(again).toMatchObject({ status: 200, body: { jitterSec: 0, version: 1, nextFireAt: before.nextFireAt } })
    const moved = await ask('PUT /v1/jobs/older', { ...daily, key: 'older', schedule: '0 6 * * *' })
    expect(jitterOf(moved.body)).toEqual([600, 'TENANT'])
  })

  it('is in the ledger as any other jitter: verify finds what it computes', async () => {
    await declare(600)
    const job = await put({ type: 'INTERVAL', interval: 'PT2S', target: { handler: 'h' } })
    expect(jitterOf(job)).toEqual([1, 'TENANT'])
    const verified = async () => (await ask(`GET /v1/verify?from=${job.createdAt}&job=${job.jobId}`)).body
    await until(async () => (await verified()).checked.occurrences > 1)
    expect(await verified()).toMatchObject({ missed: 0, doubled: 0, wrong: 0, findings: [] })
    const { items } = (await ask(`GET /v1/jobs/${job.jobId}/executions`)).body
    const offsets = items.map(
      (each: Record<string, string>) => Date.parse(each.dueAt!) - Date.parse(each.scheduledFor!),
    )
    expect(new Set(offsets).size).toBe(1)
    expect(offsets[0]).toBeLessThan(1_000)
  })
})
