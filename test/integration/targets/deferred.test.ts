/** 202: the work goes on outside, and its end is reported with the token of that one lease. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../../packages/server/src/domain/identity.ts'
import { outsideWorkerId } from '../../../packages/server/src/domain/outside-worker.ts'
import { readPastTime } from '../../../packages/server/src/store/verification/stuck.ts'
import { type TestServer, testServer } from '../../../packages/server/src/targets/http/http-target.test-support.ts'
import { until } from '../../support/until.ts'
import { openStage, type Stage } from './stage.ts'

let stage: Stage
let server: TestServer
/** The token of each request, by its execution; the newest wins. */
const tokens = new Map<string, string>()
/** Called before the target answers 202. */
let before: (executionId: string) => Promise<unknown> = async () => {}

beforeAll(async () => {
  server = await testServer(async ({ headers }, response) => {
    const id = headers['carillon-execution-id'] as string
    tokens.set(id, headers['carillon-token'] as string)
    await before(id)
    response.writeHead(202).end()
  })
  stage = await openStage({ allow: ['127.0.0.1'] })
})
afterAll(async () => {
  await stage[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

type More = Parameters<Stage['submit']>[1]

/** An execution that somebody outside has. */
async function deferred(more?: More): Promise<{ id: string; token: string }> {
  const id = await stage.submit({ http: { url: server.url } }, more)
  await handedOver(id)
  return { id, token: tokens.get(id)! }
}

async function handedOver(id: string, entries = 1): Promise<void> {
  await until(async () => (await stage.read(id)).history.filter(({ to }) => to === 'DEFERRED').length === entries)
}

async function audit(id: string): Promise<unknown[]> {
  return (await stage.sql.query('select action from carillon.audit where subject = $1', [id])).rows
}

describe('an execution that somebody outside has', () => {
  it('is RUNNING, held by no worker and never taken for lost', async () => {
    const { id, token } = await deferred({ heartbeatTimeoutSec: 1 })
    expect(await stage.read(id)).toMatchObject({ state: 'RUNNING', workerId: outsideWorkerId, attempt: 1 })
    // As if it had run for ten minutes: a worker would be lost by now, a handler silent.
    await stage.sql.query(
      `update carillon.leases set leased_at = leased_at - interval '10 minutes' where $1::uuid = any (ids)`,
      [id],
    )
    // One whose worker is lost is found in the meantime.
    const stranger = newId(Date.now())
    await stage.sql.query(
      `with born as (
         insert into carillon.executions (execution_id, job_id, tenant, pool, lane, handler, tag, origin, scheduled_for, due_at, fired_at)
         values ($1, $1, 'default', 'nowhere', 2, 'h', 1, 'SUBMIT', now(), now(), now()))
       insert into carillon.leases (lease_id, worker_id, pool, lane, tag_low, tag_high, leased_at, overdue_at, grace_sec, began, open, ids)
       values (nextval('carillon.lease_ids'), $1, 'nowhere', 2, 1, 1, now() - interval '1 minute', now() + interval '1 hour', 1, true, 1,
         array[$1::uuid])`,
      [stranger],
    )
    const lost = `select from carillon.executions where execution_id = $1 and history -> -1 ->> 'to' = 'WORKER_LOST'`
    await until(async () => (await stage.sql.query(lost, [stranger])).rowCount === 1)
    expect(await stage.read(id)).toMatchObject({ state: 'RUNNING', workerId: outsideWorkerId })
    const late = await readPastTime(stage.engine.database, { lostMs: 1_000, limit: 100 })
    expect(late.map(({ executionId }) => executionId)).not.toContain(id)
    expect(await stage.complete(id, token, { outcome: 'SUCCEEDED' })).toMatchObject({ status: 200 })
  })

  it('succeeds with the result that is reported; repeated, the answer is the same', async () => {
    const { id, token } = await deferred()
    const body = { outcome: 'SUCCEEDED', result: { film: 'ready' } }
    for (const _ of [1, 2, 3]) {
      expect(await stage.complete(id, token, body)).toMatchObject({
        status: 200,
        body: { executionId: id, verdict: 'ACCEPTED' },
      })
    }
    const record = await stage.read(id)
    expect(record).toMatchObject({ state: 'SUCCEEDED', result: '{"film":"ready"}', attempt: 1 })
    expect(record.history).toMatchObject([{ to: 'DEFERRED', fence: record.fence }])
    expect(await audit(id)).toEqual([])
  })

  it('fails by the retry policy, and the next attempt has another token', async () => {
    const { id, token } = await deferred({ retryPolicy: { initialDelayMs: 0, maxAttempts: 2 } })
    const failed = { outcome: 'FAILED', error: { name: 'OutOfPaper', message: 'no\u0000 more' } }
    expect(await stage.complete(id, token, failed)).toMatchObject({ status: 200 })
    await handedOver(id, 2)
    expect(await stage.complete(id, token, failed)).toMatchObject({ status: 200 })
    const stale = await stage.complete(id, token, { outcome: 'SUCCEEDED' })
    expect(stale).toMatchObject({ status: 409, body: { code: 'FENCE_STALE' } })
    expect(await stage.read(id)).toMatchObject({ state: 'RUNNING', attempt: 2 })
    expect(await audit(id)).toHaveLength(1)
    const last = { outcome: 'FAILED', permanent: true }
    expect(await stage.complete(id, tokens.get(id)!, last)).toMatchObject({ status: 200 })
    const record = await stage.read(id)
    expect(record).toMatchObject({ state: 'DEAD', error: { name: 'TargetFailed' } })
    expect(record.history.filter(({ to }) => to === 'FAILED')[0]).toMatchObject({ error: { name: 'OutOfPaper' } })
  })

  it('times out by its own time, and then the token is too late', async () => {
    const { id, token } = await deferred({ timeoutSec: 1, cancelGraceSec: 0, retryPolicy: { maxAttempts: 1 } })
    expect(await stage.reaches(id, 'DEAD')).toMatchObject({ error: { name: 'TimedOut' } })
    expect(await stage.complete(id, token, { outcome: 'SUCCEEDED' })).toMatchObject({
      status: 409,
      body: { code: 'FENCE_STALE' },
    })
  })

  it('is cancelled after the grace; what is reported within it counts', async () => {
    const cancel = (id: string) =>
      stage.engine.executions.cancel('acme', id, { reason: 'CANCELLED', actor: 'a person' })
    const quick = await deferred({ cancelGraceSec: 3_600 })
    expect(await cancel(quick.id)).toBe('CANCELLING')
    expect(await stage.complete(quick.id, quick.token, { outcome: 'SUCCEEDED' })).toMatchObject({ status: 200 })
    expect(await stage.read(quick.id)).toMatchObject({ state: 'SUCCEEDED' })
    const slow = await deferred({ cancelGraceSec: 0 })
    await cancel(slow.id)
    await stage.reaches(slow.id, 'CANCELLED')
    expect(await stage.complete(slow.id, slow.token, { outcome: 'SUCCEEDED' })).toMatchObject({ status: 409 })
  })

  it('may be reported before the target has even answered', async () => {
    for (const body of [{ outcome: 'SUCCEEDED' }, { outcome: 'FAILED', permanent: true }]) {
      const answers: number[] = []
      before = async (id) => answers.push((await stage.complete(id, tokens.get(id)!, body)).status)
      const id = await stage.submit({ http: { url: server.url } })
      await stage.reaches(id, body.outcome === 'SUCCEEDED' ? 'SUCCEEDED' : 'DEAD')
      await until(async () => answers.length === 1)
      before = async () => {}
      // The worker's own report comes after it and is no stranger's.
      await deferred()
      expect([answers, await audit(id)]).toEqual([[200], []])
    }
  })
})

describe('a token', () => {
  it('is good for its own execution only', async () => {
    const [one, other] = [await deferred(), await deferred()]
    const body = { outcome: 'SUCCEEDED' }
    const [fence, mac] = one.token.split('.') as [string, string]
    for (const wrong of [
      ...[null, '', 'x', other.token, `${fence}.`, mac, `${Number(fence) + 1}.${mac}`, `0${one.token}`],
      ...[`${one.token}x`, `${fence}.${mac.slice(1)}A`, `-${one.token}`, `${fence}.${'A'.repeat(43)}`],
    ]) {
      const { status, body: problem } = await stage.complete(one.id, wrong, body)
      expect([wrong, status, problem.code]).toEqual([wrong, 401, 'TOKEN_INVALID'])
    }
    expect(await stage.complete(randomUUID(), one.token, body)).toMatchObject({ status: 401 })
    expect(await stage.complete(one.id.toUpperCase(), one.token, body)).toMatchObject({ status: 200 })
    await stage.complete(other.id, other.token, body)
  })

  it('does not help a body that says nothing clear', async () => {
    const { id, token } = await deferred()
    for (const [body, status, pointer] of [
      [{ outcome: 'DONE' }, 422, '/outcome'],
      [{ outcome: 'SUCCEEDED', error: { name: 'a', message: 'b' } }, 422, '/error'],
      [{ outcome: 'FAILED', result: 1 }, 422, '/result'],
      [{ outcome: 'SUCCEEDED', result: 'x'.repeat(300_000) }, 413, '/result'],
    ] as const) {
      const answer = await stage.complete(id, token, body)
      expect([answer.status, answer.body.errors[0].pointer]).toEqual([status, pointer])
    }
    expect(await stage.read(id)).toMatchObject({ state: 'RUNNING' })
    await stage.complete(id, token, { outcome: 'SUCCEEDED' })
  })
})

describe('a worker', () => {
  it('hands over under its fence; repeated it is accepted, with an old one refused', async () => {
    const { id } = await deferred()
    const { fence } = await stage.read(id)
    const lease = { executionId: id, fence: fence! }
    const said = { ...lease, startedAt: null, finishedAt: Date.now(), outcome: 'DEFERRED' } as const
    const tell = (more: object = {}) =>
      stage.engine.completion.end({ ...lease, actor: 'worker:w', from: 'WORKER', said, ...more })
    expect(await tell()).toBe('ACCEPTED')
    expect(await tell({ fence: fence! - 1 })).toBe('REFUSED')
    expect((await stage.read(id)).history).toHaveLength(1)
    const succeeded = { ...said, outcome: 'SUCCEEDED', result: null } as const
    expect(await tell({ said: succeeded })).toBe('ACCEPTED')
    expect(await tell()).toBe('ACCEPTED')
    expect(await stage.read(id)).toMatchObject({ state: 'SUCCEEDED' })
  })
})
