/** Changes of jobs over HTTP: replaced, patched, paused, resumed, deleted; by version, and on record. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fitsContract } from '../../support/contract-check.ts'
import { type Asked, type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'

const cron = { type: 'CRON', schedule: '0 3 * * *', target: { handler: 'h' } }
const farOff = '2099-01-01T00:00:00Z'

let node: HttpNode
beforeAll(async () => {
  node = await httpNode()
})
afterAll(() => node[Symbol.asyncDispose]())

async function create(job: object): Promise<string> {
  const { status, body } = await node.ask('POST /v1/jobs', job)
  expect(status, JSON.stringify(body)).toBe(201)
  return body.jobId
}

function problem({ status, body }: Asked) {
  return { status, code: body.code, pointer: body.errors?.[0]?.pointer }
}

async function trail(jobId: string): Promise<[string, string, object][]> {
  const { body } = await node.ask(`GET /v1/audit?subject=${jobId}`)
  return body.items.map(({ action, actor, detail }: { action: string; actor: string; detail: object }) => [
    ...[action, actor, detail],
  ])
}

describe('a replacement', () => {
  it('gives a job another definition, and its version grows', async () => {
    const jobId = await create({ ...cron, key: 'replaced', labels: { a: 'b' }, payload: 1 })
    const answer = await node.ask(`PUT /v1/jobs/${jobId}`, { ...cron, schedule: '0 4 * * *', name: 'four' })
    fitsContract('replaceJob', answer)
    expect(answer.headers.get('etag')).toBe('"2"')
    expect(answer.body).toMatchObject({
      jobId,
      version: 2,
      name: 'four',
      schedule: '0 4 * * *',
      key: null,
      payload: null,
    })
    expect(answer.body.labels).toEqual({})
    expect(answer.body.nextFireLocal).toContain('T04:00:00')
  })

  it('by the same definition changes nothing', async () => {
    const job = {
      ...cron,
      timeoutSec: 300,
      retryPolicy: { maxAttempts: 2 },
      endAt: farOff,
      payload: { a: 1, b: [null] },
    }
    const jobId = await create(job)
    const before = (await node.ask(`GET /v1/jobs/${jobId}`)).body
    const answer = await node.ask(`PUT /v1/jobs/${jobId}`, { ...job, endAt: '2099-01-01T01:00:00+01:00' })
    expect(answer.body).toMatchObject({ version: 1, updatedAt: before.updatedAt })
    expect((await trail(jobId)).map(([action]) => action)).toEqual(['job.created'])
  })

  it('may turn a job into one of another type', async () => {
    const jobId = await create(cron)
    const once = await node.ask(`PUT /v1/jobs/${jobId}`, { type: 'ONE_SHOT', runAt: farOff, target: { handler: 'h' } })
    expect(once.body).toMatchObject({ type: 'ONE_SHOT', schedule: null, nextFireAt: '2099-01-01T00:00:00.000Z' })
    const now = await node.ask(`PUT /v1/jobs/${jobId}`, {
      type: 'DELAYED',
      delayMs: 1_000_000,
      target: { handler: 'h' },
    })
    expect(now.body).toMatchObject({ type: 'DELAYED', delayMs: 1_000_000, runAt: null, version: 3 })
  })

  it('that is wrong changes nothing and says why', async () => {
    const jobId = await create(cron)
    const put = async (job: object) => problem(await node.ask(`PUT /v1/jobs/${jobId}`, job))
    expect(await put({ ...cron, schedule: '61 * * * *' })).toMatchObject({ status: 422, code: 'SCHEDULE_INVALID' })
    expect(await put({ ...cron, target: { handler: 'h', pool: 'nowhere' } })).toMatchObject({ code: 'POOL_UNKNOWN' })
    expect(await put({ ...cron, dedupe: { key: 'x' } })).toMatchObject({ code: 'VALIDATION', pointer: '/dedupe' })
    expect(await put({ ...cron, payload: 'x'.repeat(300_000) })).toMatchObject({ status: 413 })
    expect(await put({ ...cron, colour: 'red' })).toMatchObject({ code: 'VALIDATION', pointer: '/colour' })
    expect((await node.ask(`GET /v1/jobs/${jobId}`)).body.version).toBe(1)
  })

  it('cannot take the key of another job', async () => {
    await create({ ...cron, key: 'taken' })
    const jobId = await create({ ...cron, key: 'free' })
    expect(problem(await node.ask(`PUT /v1/jobs/${jobId}`, { ...cron, key: 'taken' }))).toEqual({
      ...{ status: 409, code: 'STATE_CONFLICT', pointer: '/key' },
    })
  })
})

describe('a patch', () => {
  it('changes what it names, at every depth, and null goes back to the default', async () => {
    const jobId = await create({
      ...{ ...cron, key: 'patched', timeoutSec: 60, retryPolicy: { maxAttempts: 9, backoff: 'FIXED' } },
      ...{ labels: { team: 'billing', tier: '1' }, payload: { keep: 1, drop: 2, deep: { a: 1, b: 2 } } },
      ...{ target: { handler: 'h', pool: 'default' }, priority: 'HIGH', jitterSec: 30 },
    })
    const answer = await node.ask(
      `PATCH /v1/jobs/${jobId}`,
      {
        ...{ timeoutSec: null, retryPolicy: { backoff: null, initialDelayMs: 5 }, labels: { tier: null, new: 'x' } },
        ...{ payload: { drop: null, deep: { b: 3 } }, target: { handler: 'other' } },
      },
      { 'content-type': 'application/merge-patch+json' },
    )
    fitsContract('patchJob', answer)
    expect(answer.body).toMatchObject({
      ...{ version: 2, key: 'patched', priority: 'HIGH', jitterSec: 30, schedule: '0 3 * * *', timeoutSec: 300 },
      ...{ labels: { team: 'billing', new: 'x' }, target: { handler: 'other', pool: 'default' } },
      retryPolicy: { maxAttempts: 9, backoff: 'EXPONENTIAL', initialDelayMs: 5 },
    })
    expect(answer.body.payload).toEqual({ keep: 1, deep: { a: 1, b: 3 } })
    expect(answer.body.labels).not.toHaveProperty('tier')
  })

  it('without an effect changes nothing', async () => {
    const jobId = await create({ type: 'INTERVAL', interval: 'PT1H', target: { handler: 'h' }, payload: [1] })
    for (const patch of [{}, { interval: 'PT1H' }, { priority: null }]) {
      expect((await node.ask(`PATCH /v1/jobs/${jobId}`, patch)).body.version).toBe(1)
    }
  })

  it('of the type needs the time of the new type only', async () => {
    const jobId = await create(cron)
    const { body } = await node.ask(`PATCH /v1/jobs/${jobId}`, { type: 'INTERVAL', interval: 'P1D' })
    expect(body).toMatchObject({ type: 'INTERVAL', interval: 'P1D', schedule: null, version: 2 })
  })

  it('is judged by what comes of it', async () => {
    const jobId = await create({
      ...cron,
      labels: Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`l${n}`, 'x'])),
    })
    const patch = async (body: unknown) => problem(await node.ask(`PATCH /v1/jobs/${jobId}`, body))
    expect(await patch({ schedule: null })).toMatchObject({ code: 'VALIDATION', pointer: '/schedule' })
    expect(await patch({ target: null })).toMatchObject({ code: 'VALIDATION', pointer: '/target' })
    expect(await patch({ type: null })).toMatchObject({ code: 'VALIDATION', pointer: '/type' })
    expect(await patch({ interval: 'PT1H' })).toMatchObject({ code: 'VALIDATION', pointer: '/interval' })
    expect(await patch({ target: { http: { url: 'http://x' } } })).toMatchObject({ status: 422 })
    expect(await patch({ labels: { one: 'more' } })).toMatchObject({ code: 'VALIDATION', pointer: '/labels' })
    expect(await patch({ retryPolicy: { maxAttempts: 'many' } })).toMatchObject({ pointer: '/retryPolicy/maxAttempts' })
    expect(await patch({ dedupe: null })).toMatchObject({ code: 'VALIDATION', pointer: '/dedupe' })
    expect(await patch('{"labels":{"__proto__":"x"}}')).toMatchObject({ code: 'VALIDATION' })
    expect(await patch([])).toMatchObject({ status: 422 })
    expect((await node.ask(`GET /v1/jobs/${jobId}`)).body.version).toBe(1)
  })

  it('of a payload cannot reach beyond it', async () => {
    const jobId = await create({ ...cron, payload: { a: 1 } })
    await node.ask(`PATCH /v1/jobs/${jobId}`, '{"payload":{"__proto__":{"polluted":true}}}')
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    expect(Object.keys((await node.ask(`GET /v1/jobs/${jobId}`)).body.payload)).toEqual(['a', '__proto__'])
  })

  it('of a completed job leaves it completed unless something is to come again', async () => {
    const jobId = await create({ type: 'INTERVAL', interval: 'PT1S', maxFires: 1, target: { handler: 'h' } })
    await until(async () => (await node.ask(`GET /v1/jobs/${jobId}`)).body.state === 'COMPLETED')
    const named = await node.ask(`PATCH /v1/jobs/${jobId}`, { name: 'done' })
    expect(named.body).toMatchObject({ state: 'COMPLETED', name: 'done', version: 2, nextFireAt: null })
    expect(problem(await node.ask(`PATCH /v1/jobs/${jobId}`, { interval: 'PT2S' }))).toMatchObject({
      ...{ code: 'SCHEDULE_NEVER_FIRES', pointer: '/maxFires' },
    })
    const again = await node.ask(`PATCH /v1/jobs/${jobId}`, { maxFires: 2, interval: 'P1D' })
    expect(again.body).toMatchObject({ state: 'ACTIVE', maxFires: 2 })
  })
})

describe('pause, resume and delete', () => {
  it('answer with the job as it is now', async () => {
    const jobId = await create(cron)
    const paused = await node.ask(`POST /v1/jobs/${jobId}/pause`)
    fitsContract('pauseJob', paused)
    expect(paused.body).toMatchObject({ state: 'PAUSED', nextFireAt: null })
    expect((await node.ask(`POST /v1/jobs/${jobId}/pause`)).status).toBe(200)
    const resumed = await node.ask(`POST /v1/jobs/${jobId}/resume`)
    fitsContract('resumeJob', resumed)
    expect(resumed.body.state).toBe('ACTIVE')
    expect((await node.ask(`DELETE /v1/jobs/${jobId}`)).status).toBe(204)
    const gone = await node.ask(`GET /v1/jobs/${jobId}`)
    fitsContract('getJob', gone)
    expect(gone.body).toMatchObject({ state: 'DELETED', nextFireAt: null })
    for (const what of [`DELETE /v1/jobs/${jobId}`, `POST /v1/jobs/${jobId}/pause`, `GET /v1/jobs/${jobId}/next`]) {
      expect(problem(await node.ask(what))).toMatchObject({ status: 404, code: 'JOB_NOT_FOUND' })
    }
  })

  it('a delete cancels what is pending', async () => {
    const jobId = await create(cron)
    const { executionId } = (await node.ask(`POST /v1/jobs/${jobId}/trigger`)).body
    expect((await node.ask(`DELETE /v1/jobs/${jobId}?cancelRunning=false`)).status).toBe(204)
    const { executions } = (await node.ask(`GET /v1/jobs/${jobId}`)).body
    expect(executions).toMatchObject([{ executionId, state: 'CANCELLED', reason: 'JOB_DELETED' }])
  })

  it('what passes while a job is paused is recorded, also when it is edited or deleted before it is resumed', async () => {
    const ids = [await create(everySecond()), await create(everySecond()), await create(everySecond())]
    for (const id of ids) await node.ask(`POST /v1/jobs/${id}/pause`)
    // A second later, at the latest, each has passed at least one.
    const from = (await node.ask(`GET /v1/jobs/${ids[2]}`)).body.updatedAt
    await until(async () => Date.now() > Date.parse(from) + 1_100)
    await node.ask(`POST /v1/jobs/${ids[0]}/resume`)
    await node.ask(`PATCH /v1/jobs/${ids[1]}`, { interval: 'P1D' })
    await node.ask(`DELETE /v1/jobs/${ids[2]}`)
    for (const id of ids) {
      const { executions } = (await node.ask(`GET /v1/jobs/${id}`)).body
      expect(executions.some((e: { reason: string }) => e.reason === 'PAUSED')).toBe(true)
    }
  })
})

function everySecond(): object {
  return { type: 'INTERVAL', interval: 'PT1S', target: { handler: 'h' } }
}

describe('the version', () => {
  it.each(['"1"', 'W/"1"', '1', '*'])('is taken as %s', async (tag) => {
    const jobId = await create(cron)
    const answer = await node.ask(`PATCH /v1/jobs/${jobId}`, { name: 'x' }, { 'if-match': tag })
    expect({ status: answer.status, etag: answer.headers.get('etag') }).toEqual({ status: 200, etag: '"2"' })
  })

  it.each(['one', '"1', '"1", "2"', '-1', '""'])('is not taken as %s', async (tag) => {
    const jobId = await create(cron)
    const answer = await node.ask(`PATCH /v1/jobs/${jobId}`, { name: 'x' }, { 'if-match': tag })
    expect(problem(answer)).toEqual({ status: 422, code: 'VALIDATION', pointer: '/if-match' })
  })

  it('that is old stops every kind of change, and the answer names the current one', async () => {
    const jobId = await create(cron)
    await node.ask(`PATCH /v1/jobs/${jobId}`, { name: 'second' })
    const old = { 'if-match': '"1"' }
    for (const [what, body] of [
      ['PUT', cron],
      ['PATCH', { name: 'third' }],
      ['DELETE', undefined],
    ] as const) {
      const answer = await node.ask(`${what} /v1/jobs/${jobId}`, body, old)
      expect(problem(answer)).toMatchObject({ status: 412, code: 'VERSION_MISMATCH' })
      expect(answer.body.detail).toContain('version 2')
    }
    for (const verb of ['pause', 'resume']) {
      expect((await node.ask(`POST /v1/jobs/${jobId}/${verb}`, undefined, old)).status).toBe(412)
    }
    expect((await node.ask(`GET /v1/jobs/${jobId}`)).body).toMatchObject({ name: 'second', state: 'ACTIVE' })
  })

  it('lets one of several changes at once through', async () => {
    const other = await node.another()
    const jobId = await create(cron)
    for (let version = 1; version <= 10; version++) {
      const answers = await Promise.all(
        [node.url, other.url, node.url, other.url].map((url, n) =>
          fetch(`${url}/v1/jobs/${jobId}`, {
            ...{ method: 'PATCH', body: JSON.stringify({ name: `${version} by ${n}` }) },
            headers: { 'content-type': 'application/json', 'if-match': `"${version}"` },
          }),
        ),
      )
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412, 412, 412])
    }
    expect((await node.ask(`GET /v1/jobs/${jobId}`)).body.version).toBe(11)
  })

  it('is not asked for: then all of several changes at once take place', async () => {
    const jobId = await create(cron)
    const patch = (n: number) => node.ask(`PATCH /v1/jobs/${jobId}`, { labels: { [`l${n}`]: 'x' } })
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => patch(n)))
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
    const { version, labels } = (await node.ask(`GET /v1/jobs/${jobId}`)).body
    expect({ version, labels: Object.keys(labels).length }).toEqual({ version: 9, labels: 8 })
  })

  it('does not change when the job fires', async () => {
    const jobId = await create(everySecond())
    await until(async () => (await node.ask(`GET /v1/jobs/${jobId}`)).body.executions.length > 0)
    for (let version = 1; version <= 5; version++) {
      const answer = await node.ask(`PATCH /v1/jobs/${jobId}`, { name: `${version}` }, { 'if-match': `"${version}"` })
      expect(answer.headers.get('etag')).toBe(`"${version + 1}"`)
    }
    await node.ask(`DELETE /v1/jobs/${jobId}`)
  })

  it('a resume that meets a delete does not bring the job back', async () => {
    for (let n = 0; n < 20; n++) {
      const jobId = await create(cron)
      await node.ask(`POST /v1/jobs/${jobId}/pause`)
      await Promise.all([node.ask(`POST /v1/jobs/${jobId}/resume`), node.ask(`DELETE /v1/jobs/${jobId}`)])
      expect((await node.ask(`GET /v1/jobs/${jobId}`)).body.state).toBe('DELETED')
    }
  })
})

describe('the audit', () => {
  it('says who did what to a job, newest first', async () => {
    const jobId = await create(cron)
    await node.ask(`PATCH /v1/jobs/${jobId}`, { name: 'x' })
    await node.ask(`POST /v1/jobs/${jobId}/pause`)
    await node.ask(`POST /v1/jobs/${jobId}/pause`)
    await node.ask(`POST /v1/jobs/${jobId}/resume`)
    await node.ask(`DELETE /v1/jobs/${jobId}?cancelRunning=true`)
    const [deleted, resumed, paused, updated, created, ...more] = await trail(jobId)
    expect([deleted, resumed, paused, updated]).toEqual([
      ['job.deleted', 'anonymous', { version: 2, cancelRunning: true }],
      ['job.resumed', 'anonymous', { version: 2 }],
      ['job.paused', 'anonymous', { version: 2 }],
      ['job.updated', 'anonymous', { version: 2 }],
    ])
    expect(created![0]).toBe('job.created')
    expect(more).toEqual([])
  })

  it('comes in pages, by filter, and to its own tenant only', async () => {
    const mine = { 'carillon-tenant': 'audited' }
    const { jobId } = (await node.ask('POST /v1/jobs', cron, mine)).body
    for (const verb of ['pause', 'resume', 'pause']) await node.ask(`POST /v1/jobs/${jobId}/${verb}`, undefined, mine)
    const ask = async (query: string, headers = mine) => {
      const answer = await node.ask(`GET /v1/audit?${query}`, undefined, headers)
      fitsContract('listAudit', answer)
      return answer.body
    }
    const actions = ({ items }: { items: { action: string }[] }) => items.map(({ action }) => action)
    const first = await ask('limit=3')
    expect(actions(first)).toEqual(['job.paused', 'job.resumed', 'job.paused'])
    expect(actions(await ask(`limit=3&cursor=${first.nextCursor}`))).toEqual(['job.created'])
    expect(actions(await ask('action=job.resumed'))).toEqual(['job.resumed'])
    const { at } = first.items[0]
    expect(actions(await ask(`from=${at}`))).toContain('job.paused')
    expect((await ask(`to=${first.items[2].at}`)).items.length).toBeLessThan(4)
    expect((await ask('', { 'carillon-tenant': 'nobody' })).items).toEqual([])
    expect(problem(await node.ask('GET /v1/audit?cursor=zz'))).toEqual({
      ...{ status: 422, code: 'VALIDATION', pointer: '/cursor' },
    })
  })
})
