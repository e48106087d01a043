/** Jobs as they are read over HTTP: one, a page, what is only in the ledger. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fitsContract } from '../../support/contract-check.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'

const cron = { type: 'CRON', schedule: '0 3 * * *', target: { handler: 'h' } }
const newYear = '2099-01-01T00:00:00Z'

let node: HttpNode
beforeAll(async () => {
  node = await httpNode()
})
afterAll(() => node[Symbol.asyncDispose]())

/** As a tenant of its own, so that tests do not see each other's jobs. */
function as(tenant: string) {
  const ask = (what: string, body?: unknown) => node.ask(what, body, { 'carillon-tenant': tenant })
  const create = async (job: object): Promise<string> => {
    const { status, body } = await ask('POST /v1/jobs', job)
    expect(status, JSON.stringify(body)).toBe(201)
    return body.jobId
  }
  const list = async (query: string) => {
    const answer = await ask(`GET /v1/jobs?${query}`)
    fitsContract('listJobs', answer)
    return answer.body
  }
  return { ask, create, list }
}

/** Many more of a kind, with larger ids and another name, that never fire. */
async function copyJob(jobId: string, count: number): Promise<void> {
  const client = new pg.Client(node.databaseUrl)
  await client.connect()
  try {
    await client.query(`create function pg_temp.nth(n int) returns uuid return
      ('f0000000-0000-8000-8000-' || lpad(n::text, 12, '0'))::uuid`)
    await client.query(
      `insert into carillon.jobs select c.* from carillon.jobs j, generate_series(1, $2) n,
         jsonb_populate_record(j, jsonb_build_object('job_id', pg_temp.nth(n), 'name', 'copy')) c where j.job_id = $1`,
      [jobId, count],
    )
    await client.query(
      `insert into carillon.schedules select pg_temp.nth(n), s.shard, s.version from carillon.schedules s, generate_series(1, $2) n
       where s.job_id = $1`,
      [jobId, count],
    )
  } finally {
    await client.end()
  }
}

describe('a job', () => {
  it('is shown whole, defaults filled in, with its version as ETag', async () => {
    const { ask, create } = as('whole')
    const jobId = await create({
      ...{ name: 'daily', key: 'daily', managedBy: 'ops', ...cron, timezone: 'America/Los_Angeles' },
      ...{ payload: { a: [1] }, labels: { team: 'billing' }, jitterSec: 60, maxFires: 9, endAt: newYear },
      ...{ retryPolicy: { maxAttempts: 3 }, pauseAfterFailures: 5, startWithinSec: 60, deadlineSec: 600 },
    })
    const answer = await ask(`GET /v1/jobs/${jobId}`)
    fitsContract('getJob', answer)
    expect(answer.headers.get('etag')).toBe('"1"')
    expect(answer.body).toMatchObject({
      ...{ jobId, key: 'daily', name: 'daily', tenant: 'whole', managedBy: 'ops', labels: { team: 'billing' } },
      ...{ state: 'ACTIVE', version: 1, type: 'CRON', schedule: '0 3 * * *', interval: null, runAt: null },
      ...{ timezone: 'America/Los_Angeles', dst: { gap: 'SHIFT', overlap: 'FIRST' }, maxFires: 9, jitterSec: 60 },
      ...{ misfire: 'FIRE_ONCE', misfireAfterSec: 60, maxCatchUp: 1_000, graceSec: null, overlap: 'ALLOW' },
      ...{ pauseAfterFailures: 5, priority: 'NORMAL', timeoutSec: 300, deadlineSec: 600, startWithinSec: 60 },
      ...{ heartbeatTimeoutSec: null, cancelGraceSec: 10, unknownHandlerSec: 600, delivery: 'AT_LEAST_ONCE' },
      retryPolicy: { maxAttempts: 3, backoff: 'EXPONENTIAL', initialDelayMs: 1_000, factor: 2, maxDelayMs: 300_000 },
      ...{ target: { pool: 'default', handler: 'h' }, payload: { a: [1] }, endAt: '2099-01-01T00:00:00.000Z' },
      ...{ lastExecutionId: null, lastState: null, lastRunAt: null, executions: [] },
    })
    expect(answer.body.nextFireLocal).toMatch(/T03:00:/)
    const interval = await create({ type: 'INTERVAL', interval: 'P1D', target: { handler: 'h' } })
    const delayed = await create({ type: 'DELAYED', delayMs: 86_400_000, target: { handler: 'h' } })
    for (const id of [interval, delayed]) fitsContract('getJob', await ask(`GET /v1/jobs/${id}`))
  })

  it('comes with its latest ten executions', async () => {
    const { ask, create } = as('latest')
    const jobId = await create(cron)
    for (let n = 0; n < 11; n++) expect((await ask(`POST /v1/jobs/${jobId}/trigger`)).status).toBe(201)
    const answer = await ask(`GET /v1/jobs/${jobId}`)
    fitsContract('getJob', answer)
    const ids = answer.body.executions.map((execution: { executionId: string }) => execution.executionId)
    expect(ids).toHaveLength(10)
    expect(ids).toEqual(ids.toSorted().reverse())
    expect(answer.body).toMatchObject({ lastExecutionId: ids[0], lastState: 'PENDING', lastRunAt: null })
    const { items } = await as('latest').list('')
    expect(items[0]).toMatchObject({ jobId, lastExecutionId: ids[0], lastState: 'PENDING' })
  })

  it('that is a submission is found in the ledger, until and after its end', async () => {
    const { ask, create } = as('submission')
    const jobId = await create({
      ...{ type: 'ONE_SHOT', name: 'now', target: { handler: 'h' }, payload: { n: 1 } },
      ...{ priority: 'HIGH', startWithinSec: 600, timeoutSec: 5 },
    })
    const waiting = await ask(`GET /v1/jobs/${jobId}`)
    fitsContract('getJob', waiting)
    expect(waiting.body).toMatchObject({
      ...{ jobId, name: 'now', type: 'ONE_SHOT', state: 'ACTIVE', version: 1, payload: { n: 1 }, priority: 'HIGH' },
      ...{ startWithinSec: 600, timeoutSec: 5, nextFireAt: null, lastExecutionId: jobId, lastState: 'PENDING' },
      executions: [{ executionId: jobId, state: 'PENDING' }],
    })
    expect((await as('somebody-else').ask(`GET /v1/jobs/${jobId}`)).status).toBe(404)
    expect((await ask(`PATCH /v1/jobs/${jobId}`, { name: 'x' })).body.code).toBe('STATE_CONFLICT')
    expect((await ask(`GET /v1/jobs/${jobId}/next`)).body).toMatchObject({ timezone: 'UTC', fires: [] })
    expect((await ask(`DELETE /v1/jobs/${jobId}`)).status).toBe(204)
    const ended = await ask(`GET /v1/jobs/${jobId}`)
    fitsContract('getJob', ended)
    expect(ended.body).toMatchObject({ state: 'COMPLETED', lastState: 'CANCELLED' })
    expect((await ask(`DELETE /v1/jobs/${jobId}`)).body.code).toBe('STATE_CONFLICT')
  })

  it('that fired once is found in the ledger, even if its time was changed', async () => {
    const { ask, create } = as('moved')
    const jobId = await create({ type: 'ONE_SHOT', runAt: newYear, target: { handler: 'h' } })
    const runAt = (await ask(`GET /v1/jobs/${jobId}`)).body.createdAt
    expect((await ask(`PATCH /v1/jobs/${jobId}`, { runAt })).status).toBe(200)
    await until(async () => (await ask(`GET /v1/jobs/${jobId}`)).body.executions.length === 1)
    const { body } = await ask(`GET /v1/jobs/${jobId}`)
    expect(body).toMatchObject({ jobId, state: 'ACTIVE', runAt, nextFireAt: null })
    expect(body.executions[0].executionId).not.toBe(jobId)
    expect((await ask(`DELETE /v1/jobs/${jobId}`)).status).toBe(204)
    expect((await ask(`GET /v1/jobs/${jobId}`)).body).toMatchObject({ state: 'COMPLETED', lastState: 'CANCELLED' })
  })

  it.each(['00000000-0000-8000-8000-000000000000', '7', 'urn:uuid:00000000-0000-8000-8000-000000000000'])(
    'that has neither this id nor this key is not found: %s',
    async (jobId) => {
      const { status, body } = await node.ask(`GET /v1/jobs/${jobId}`)
      expect({ status, code: body.code }).toEqual({ status: 404, code: 'JOB_NOT_FOUND' })
    },
  )
})

describe('the list of jobs', () => {
  it('comes in pages, newest first, without doubles', async () => {
    const { create, list } = as('pages')
    const made: string[] = []
    for (let n = 0; n < 5; n++) made.push(await create(cron))
    const seen: string[] = []
    let cursor = ''
    do {
      const { items, nextCursor } = await list(`limit=2${cursor}`)
      expect(items.length).toBeLessThanOrEqual(2)
      seen.push(...items.map((job: { jobId: string }) => job.jobId))
      cursor = nextCursor && `&cursor=${nextCursor}`
    } while (cursor)
    expect(seen).toEqual(made.toSorted().reverse())
  })

  it('knows the filters', async () => {
    const { ask, create, list } = as('filters')
    const one = await create({
      ...{ ...cron, key: 'one', name: 'first', managedBy: 'ops', target: { handler: 'a' } },
      labels: { team: 'billing', tier: '1' },
    })
    const two = await create({
      type: 'INTERVAL',
      interval: 'P30D',
      target: { handler: 'b' },
      labels: { team: 'billing' },
    })
    const three = await create({ type: 'ONE_SHOT', runAt: newYear, target: { handler: 'c' }, key: 'three' })
    await ask(`POST /v1/jobs/${two}/pause`)
    await ask(`DELETE /v1/jobs/${three}`)
    const ids = async (query: string) => (await list(query)).items.map((job: { jobId: string }) => job.jobId)
    expect((await ids('')).toSorted()).toEqual([one, two].toSorted())
    expect(await ids('state=ACTIVE')).toEqual([one])
    expect(await ids('state=PAUSED')).toEqual([two])
    expect(await ids('state=DELETED')).toEqual([three])
    expect(await ids('state=DELETED&key=three')).toEqual([three])
    expect(await ids('key=three')).toEqual([])
    expect(await ids('key=one')).toEqual([one])
    expect(await ids('key=one&state=PAUSED')).toEqual([])
    expect(await ids('type=INTERVAL')).toEqual([two])
    expect(await ids('name=first')).toEqual([one])
    expect(await ids('handler=b&pool=default')).toEqual([two])
    expect(await ids('pool=other')).toEqual([])
    expect(await ids('managedBy=ops')).toEqual([one])
    expect((await ids('label=team:billing')).toSorted()).toEqual([one, two].toSorted())
    expect(await ids('label=team:billing&label=tier:1')).toEqual([one])
    expect(await ids('label=team:billing&label=team:other')).toEqual([])
    const { nextFireAt } = (await ask(`GET /v1/jobs/${one}`)).body
    expect(await ids(`from=${nextFireAt}`)).toEqual([one])
    expect(await ids(`to=${nextFireAt}`)).toEqual([])
    expect(await as('filters-of-others').list('key=one')).toEqual({ items: [], nextCursor: null })
  })

  it('searches names, keys and handlers, whatever the case, and takes no character for a wildcard', async () => {
    const { create, list } = as('search')
    const one = await create({
      ...cron,
      name: 'Nightly Invoices',
      key: 'billing/100%',
      target: { handler: 'generate' },
    })
    const two = await create({ ...cron, name: 'other', target: { handler: 'send_Invoice' } })
    const three = await create({ ...cron, name: 'x', target: { handler: 'y' } })
    const ids = async (text: string, more = '') =>
      (await list(`search=${encodeURIComponent(text)}${more}`)).items.map((job: { jobId: string }) => job.jobId)
    expect((await ids('INVOICE')).toSorted()).toEqual([one, two].toSorted())
    expect(await ids('ly inv')).toEqual([one])
    expect(await ids('billing/')).toEqual([one])
    expect(await ids('0%')).toEqual([one])
    expect(await ids('%')).toEqual([one])
    expect(await ids('d_i')).toEqual([two])
    expect(await ids('_')).toEqual([two])
    expect(await ids('invoice', '&handler=generate')).toEqual([one])
    expect(await ids('xy')).toEqual([])
    expect(await ids('x')).toEqual([three])
    expect(await as('search-of-others').list('search=invoice')).toEqual({ items: [], nextCursor: null })
  })

  it('looks at no more than it should and says where to go on', async () => {
    const { create, list } = as('many')
    const last = await create({ ...cron, name: 'last' })
    await copyJob(last, 10_000)
    let pages = 0
    const found: string[] = []
    for (let cursor: string | null = ''; cursor !== null; pages++) {
      const { items, nextCursor }: { items: { jobId: string }[]; nextCursor: string | null } = await list(
        `name=last${cursor && `&cursor=${cursor}`}`,
      )
      found.push(...items.map((job) => job.jobId))
      cursor = nextCursor
    }
    expect(found).toEqual([last])
    expect(pages).toBe(3)
    const searched = await list('search=las')
    expect(searched).toMatchObject({ items: [{ jobId: last }], nextCursor: null })
  })

  it('weighs a page', async () => {
    const { create, list } = as('heavy')
    const payload = 'x'.repeat(250_000)
    for (let n = 0; n < 36; n++) await create({ ...cron, payload })
    const first = await list('')
    expect(first.items.length).toBeLessThan(36)
    const rest = await list(`cursor=${first.nextCursor}`)
    expect(first.items.length + rest.items.length).toBe(36)
    expect(rest.nextCursor).toBeNull()
  })

  it.each([
    ['from=2030-06-30T23:59:60Z', '/from'],
    ['to=2030-02-30T00:00:00Z', '/to'],
    ['from=2030-02-01T00:00:00Z&to=2030-01-01T00:00:00Z', '/to'],
    ['label=team', '/label/0'],
    ['limit=0', '/limit'],
    ['state=GONE', '/state'],
    ['colour=red', '/colour'],
  ])('refuses %s', async (query, pointer) => {
    const { status, body } = await node.ask(`GET /v1/jobs?${query}`)
    expect({ status, code: body.code, pointer: body.errors[0].pointer }).toEqual({
      ...{ status: 422, code: 'VALIDATION', pointer },
    })
  })

  it.each(['x', 'AAAA', '!'])('refuses the cursor %s', async (cursor) => {
    const { status, body } = await node.ask(`GET /v1/jobs?cursor=${cursor}`)
    expect({ status, code: body.code, pointer: body.errors[0].pointer }).toEqual({
      ...{ status: 422, code: 'VALIDATION', pointer: '/cursor' },
    })
  })
})
