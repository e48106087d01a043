/** Workers over HTTP: announce, lease, report, leave; and what becomes of those who say something wrong. */

import { randomUUID } from 'node:crypto'
import { completeLeased } from '@carillon/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes } from '../../support/carillon.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { HandWorker, keyOf, Ledger } from './hand-worker.ts'

let node: HttpNode
let ledger: Ledger

beforeAll(async () => {
  // Nothing here waits for a leader: statements have the time they have by default, also on a busy machine.
  const patient = { leaseMs: 2_000, statementTimeoutMs: 1_800, heartbeatEveryMs: 1_000, workerLostMs: 30_000 }
  node = await httpNode({ engine: { ...quickTimes, ...patient } })
  ledger = new Ledger(node)
})
afterAll(async () => {
  await ledger[Symbol.asyncDispose]()
  await node[Symbol.asyncDispose]()
})

const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code]

describe('a worker', () => {
  it('announces itself, is given an id and told the times', async () => {
    const pools = [{ pool: 'etl', handlers: ['load'], slots: 3 }]
    const { status, body } = await node.ask('POST /v1/workers', { name: 'one', pools })
    expect(status).toBe(201)
    expect(body).toEqual({
      workerId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      heartbeatEveryMs: 1_000,
      suspectAfterMs: 15_000,
      lostAfterMs: 30_000,
      logEveryMs: 1_000,
      serverTime: expect.any(Number),
    })
    const again = await node.ask('POST /v1/workers', { workerId: body.workerId.toUpperCase(), name: 'two', pools })
    expect([again.status, again.body.workerId]).toEqual([201, body.workerId])
    const { body: listed } = await node.ask('GET /v1/workers?pool=etl')
    expect(listed.items).toMatchObject([{ workerId: body.workerId, name: 'two', tenant: null, state: 'LIVE', pools }])
  })

  it.each<[string, object, string[]]>([
    ['no pools', { name: 'x', pools: [] }, ['/pools']],
    [
      'a name of Carillon’s',
      { name: 'x', pools: [{ pool: 'carillon.http', handlers: [], slots: 1 }] },
      ['/pools/0/pool'],
    ],
    [
      'such a handler',
      { name: 'x', pools: [{ pool: 'p', handlers: ['carillon.x'], slots: 1 }] },
      ['/pools/0/handlers/0'],
    ],
    [
      'a pool twice',
      { name: 'x', pools: [1, 2].map(() => ({ pool: 'p', handlers: [], slots: 1 })) },
      ['/pools/1/pool'],
    ],
    [
      'nobody’s id',
      { workerId: '00000000-0000-0000-0000-000000000000', name: 'x', pools: [{ pool: 'p', handlers: [], slots: 1 }] },
      ['/workerId'],
    ],
    ['half a surrogate pair', { name: '\ud800', pools: [{ pool: 'p', handlers: [], slots: 1 }] }, ['/name']],
    [
      'what is not known',
      { name: 'x', pools: [{ pool: 'p', handlers: [], slots: 1, colour: 'red' }] },
      ['/pools/0/colour'],
    ],
  ])('is refused with %s', async (_, body, pointers) => {
    const answer = await node.ask('POST /v1/workers', body)
    expect(codeOf(answer)).toEqual([422, 'VALIDATION'])
    expect(answer.body.errors.map((e: { pointer: string }) => e.pointer)).toEqual(pointers)
  })

  it('leases what is there with all it needs, and reports how it ended', async () => {
    const worker = await HandWorker.register(node.url)
    const payload = { text: 'ü "\\u0000" 😀', list: [1, 2.5, null], deep: { a: [] } }
    const [executionId] = await ledger.enqueue({ payload, policy: { timeoutSec: 7, delivery: 'AT_MOST_ONCE' } })
    const { status, body, headers } = await worker.lease({ prefetch: 2 })
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
    expect(body).toEqual({ executions: [expect.anything()], cancellations: [], serverTime: expect.any(Number) })
    expect(body.executions[0]).toEqual({
      ...{
        executionId,
        jobId: executionId,
        tenant: 'default',
        pool: 'default',
        handler: 'h',
        attempt: 1,
        maxAttempts: 4,
      },
      ...{ fence: expect.any(Number), scheduledFor: expect.any(Number), dueAt: expect.any(Number), timeoutSec: 7 },
      ...{ deadlineAt: null, heartbeatTimeoutSec: null, cancelGraceSec: 10, announceStart: true, payload },
      ...{ lastProgress: null, labels: {}, traceparent: null, target: null, dag: null },
    })
    const held = keyOf(body.executions[0])
    const news = await worker.report({ began: [held], progress: [{ ...held, progress: { at: 5 } }], held: [held] })
    expect(news.body).toEqual({
      serverTime: expect.any(Number),
      outcomes: [],
      began: ['ACCEPTED'],
      cancellations: [],
      lost: [],
    })
    expect((await ledger.execution(executionId!)).running).toMatchObject({ progress: '{"at":5}', began: true })
    const log = ['a line', 'with \0 in it']
    const outcome = { ...held, outcome: 'SUCCEEDED', result: { done: ['\u0000', '😀'] }, log }
    expect((await worker.report({ outcomes: [outcome] })).body.outcomes).toEqual(['ACCEPTED'])
    expect((await worker.report({ outcomes: [outcome] })).body.outcomes).toEqual(['ACCEPTED'])
    expect(await ledger.execution(executionId!)).toMatchObject({
      ...{ state: 'SUCCEEDED', result: '{"done":["\\u0000","😀"]}' },
      worker_id: worker.workerId,
    })
    const { lines } = (await node.ask(`GET /v1/executions/${executionId}/logs`)).body
    expect(lines.map(({ text }: { text: string }) => text)).toEqual(['a line', 'with \ufffd in it'])
  })

  it('that prefers minimal answers gets what differs from the defaults, and the same numbers', async () => {
    const worker = await HandWorker.register(node.url, { headers: { prefer: 'return=minimal' } })
    const [executionId] = await ledger.enqueue({ payload: { n: 1 }, policy: { timeoutSec: 7 } })
    const [minimal] = (await worker.lease()).body.executions
    const always = { executionId, handler: 'h', fence: expect.any(Number), scheduledFor: expect.any(Number) }
    expect(minimal).toEqual({ ...always, timeoutSec: 7, payload: { n: 1 } })
    await worker.report({
      outcomes: [{ ...keyOf(minimal), outcome: 'HANDED_BACK', reason: 'NOT_STARTED', startedAt: null }],
    })
    const full = await HandWorker.register(node.url)
    const [again] = (await full.lease()).body.executions
    expect(again).toEqual({ ...completeLeased(minimal), fence: again.fence })
    await full.succeed(again)
  })

  it('whose fence is old is refused, and nothing changes', async () => {
    const worker = await HandWorker.register(node.url)
    await ledger.enqueue()
    const [first] = (await worker.lease()).body.executions
    await worker.report({
      outcomes: [{ ...keyOf(first), outcome: 'HANDED_BACK', reason: 'NOT_STARTED', startedAt: null }],
    })
    const [second] = (await worker.lease()).body.executions
    expect(second).toMatchObject({ executionId: first.executionId, attempt: 1 })
    expect((await worker.succeed(first, 'stale')).body.outcomes).toEqual(['REFUSED'])
    expect((await worker.report({ held: [keyOf(first)], began: [keyOf(first)] })).body).toMatchObject({
      began: ['REFUSED'],
      lost: [keyOf(first)],
    })
    expect((await worker.succeed(second, 'fresh')).body.outcomes).toEqual(['ACCEPTED'])
    expect(await ledger.execution(first.executionId)).toMatchObject({ state: 'SUCCEEDED', result: '"fresh"' })
  })

  it('may say each kind of end', async () => {
    const worker = await HandWorker.register(node.url)
    await ledger.enqueue({ times: 5, policy: { retryPolicy: { initialDelayMs: 3_600_000 } } })
    const held: { executionId: string; fence: number }[] = []
    while (held.length < 5) held.push(...(await worker.lease({ slots: 5 })).body.executions.map(keyOf))
    const error = { name: 'E\0', message: 'm'.repeat(100_000), stack: '\ud800' }
    const ends = [
      { outcome: 'FAILED', error, retryAfterMs: 7_200_000, progress: { kept: true } },
      { outcome: 'FAILED', error, permanent: true },
      { outcome: 'TIMED_OUT' },
      { outcome: 'CANCELLED' },
      { outcome: 'HANDED_BACK' },
    ]
    const { body } = await worker.report({ outcomes: ends.map((end, at) => ({ ...held[at], ...end })) })
    expect(body.outcomes).toEqual(ends.map(() => 'ACCEPTED'))
    const after = await Promise.all(held.map(({ executionId }) => ledger.execution(executionId)))
    expect(after).toMatchObject([
      { state: null, attempt: 1, error: { name: 'E\ufffd' }, progress: '{"kept":true}' },
      { state: 'DEAD', reason: 'NOT_RETRYABLE' },
      { state: null, attempt: 1, error: { name: 'TimedOut' } },
      { state: 'CANCELLED' },
      { state: null, attempt: 0 },
    ])
    expect((after[0]!.error as { message: string }).message.length).toBeLessThan(10_000)
    const [again] = (await worker.lease()).body.executions
    expect(again).toMatchObject({ executionId: held[4]!.executionId, attempt: 1 })
    await worker.succeed(again)
  })

  it('may leave the end to somebody else, who reports it under the same fence', async () => {
    const [worker, other] = [await HandWorker.register(node.url), await HandWorker.register(node.url)]
    const [executionId] = await ledger.enqueue()
    const [held] = (await worker.lease()).body.executions
    const deferred = { outcomes: [{ ...keyOf(held), outcome: 'DEFERRED' }], held: [] }
    expect((await worker.report(deferred)).body.outcomes).toEqual(['ACCEPTED'])
    await worker.report({ held: [] })
    await worker.report({ held: [] })
    await worker.leave()
    expect((await ledger.execution(executionId!)).running).toMatchObject({ fence: held.fence })
    expect((await other.succeed(held, 'later')).body.outcomes).toEqual(['ACCEPTED'])
    expect(await ledger.execution(executionId!)).toMatchObject({ state: 'SUCCEEDED', result: '"later"' })
  })

  it('that is nobody’s gets 404, but its outcomes count where the fence holds', async () => {
    const worker = await HandWorker.register(node.url)
    await ledger.enqueue()
    const [held] = (await worker.lease()).body.executions
    const stranger = new HandWorker(node.url, randomUUID())
    expect(codeOf(await stranger.lease())).toEqual([404, 'WORKER_UNKNOWN'])
    expect(codeOf(await stranger.leave())).toEqual([404, 'WORKER_UNKNOWN'])
    expect(codeOf(await stranger.report({ held: [] }))).toEqual([404, 'WORKER_UNKNOWN'])
    expect(codeOf(await stranger.succeed(held))).toEqual([404, 'WORKER_UNKNOWN'])
    expect(await ledger.execution(held.executionId)).toMatchObject({ state: 'SUCCEEDED' })
  })

  it('leases only from pools it announced', async () => {
    const worker = await HandWorker.register(node.url)
    const answer = await worker.lease({ pool: 'elsewhere' })
    expect(codeOf(answer)).toEqual([422, 'VALIDATION'])
    expect(answer.body.errors[0].pointer).toBe('/pool')
  })

  it('that leaves hands back what it held', async () => {
    const worker = await HandWorker.register(node.url)
    const other = await HandWorker.register(node.url)
    const [executionId] = await ledger.enqueue()
    await worker.lease()
    const waiting = other.lease()
    expect((await worker.leave()).status).toBe(204)
    const [again] = (await waiting).body.executions
    expect(again).toMatchObject({ executionId, attempt: 1 })
    await other.succeed(again)
    expect(codeOf(await worker.lease())).toEqual([404, 'WORKER_UNKNOWN'])
  })
})

describe('a report', () => {
  const key = { executionId: randomUUID(), fence: 1 }
  it.each<[string, unknown, string]>([
    ['that is no object', [], ''],
    ['with an unknown field', { outcome: [] }, '/outcome'],
    ['without a fence', { held: [{ executionId: key.executionId }] }, '/held/0/fence'],
    ['with a fence that is none', { held: [{ ...key, fence: -1 }] }, '/held/0/fence'],
    ['with a fence beyond all numbers', { held: [{ ...key, fence: 2 ** 60 }] }, '/held/0/fence'],
    [
      'with an id that is none',
      { held: [{ ...key, executionId: `urn:uuid:${key.executionId}` }] },
      '/held/0/executionId',
    ],
    ['with an end that is none', { outcomes: [{ ...key, outcome: 'WORKER_LOST' }] }, '/outcomes/0/outcome'],
    ['without an end', { outcomes: [key] }, '/outcomes/0/outcome'],
    ['of a failure without an error', { outcomes: [{ ...key, outcome: 'FAILED' }] }, '/outcomes/0/error'],
    [
      'with a time that is none',
      { outcomes: [{ ...key, outcome: 'SUCCEEDED', startedAt: 'now' }] },
      '/outcomes/0/startedAt',
    ],
    [
      'that takes a result from a failure',
      { outcomes: [{ ...key, outcome: 'CANCELLED', result: 1 }] },
      '/outcomes/0/result',
    ],
  ])('%s is refused as a whole', async (_, body, pointer) => {
    const worker = await HandWorker.register(node.url)
    const answer = await worker.report(body as object)
    expect(codeOf(answer)).toEqual([422, 'VALIDATION'])
    expect(answer.body.errors.map((e: { pointer: string }) => e.pointer)).toContain(pointer)
  })

  it('may be empty: a sign of life', async () => {
    const worker = await HandWorker.register(node.url)
    await ledger.sql.query(`update carillon.workers set seen_at = seen_at - interval '1 hour'`)
    // Known at once as a sign of life only after a while: it is written now and then.
    await expect
      .poll(async () => {
        expect((await worker.report()).body).toMatchObject({ outcomes: [], began: [], cancellations: [], lost: [] })
        const { rows } = await ledger.sql.query(
          `select seen_at > now() - interval '1 min' live from carillon.workers where worker_id = $1`,
          [worker.workerId],
        )
        return rows[0].live
      })
      .toBe(true)
  })

  it('with a result that is too large, nested too deep, or not JSON ends that execution and no other', async () => {
    const worker = await HandWorker.register(node.url)
    const results = [`"${'x'.repeat(262_143)}"`, '['.repeat(97) + ']'.repeat(97), '{"n":1e999}', '1']
    await ledger.enqueue({ times: results.length })
    const held: { executionId: string; fence: number }[] = []
    while (held.length < results.length) held.push(...(await worker.lease({ slots: 4 })).body.executions.map(keyOf))
    const outcomes = held.map(
      (key, i) => `{"outcome":"SUCCEEDED",${JSON.stringify(key).slice(1, -1)},"result":${results[i]}}`,
    )
    const text = `{"outcomes":[${outcomes}]}`
    const { status, body } = await node.ask(`POST /v1/workers/${worker.workerId}/report`, text, {
      'content-type': 'application/json',
    })
    expect([status, body.outcomes]).toEqual([200, held.map(() => 'ACCEPTED')])
    expect(await Promise.all(held.map(({ executionId }) => ledger.execution(executionId)))).toMatchObject([
      { state: 'DEAD', error: { name: 'RESULT_TOO_LARGE' } },
      { state: 'DEAD', error: { name: 'RESULT_INVALID', message: 'The result is nested more than 96 deep' } },
      { state: 'DEAD', error: { name: 'RESULT_INVALID', message: expect.stringContaining('/n is Infinity') } },
      { state: 'SUCCEEDED', result: '1' },
    ])
  })

  it('with progress that is too large keeps the last one and says so', async () => {
    const worker = await HandWorker.register(node.url)
    const [executionId] = await ledger.enqueue()
    const [held] = (await worker.lease()).body.executions.map(keyOf)
    await worker.report({ progress: [{ ...held, progress: 1 }] })
    const { body } = await worker.report({ progress: [{ ...held, progress: 'x'.repeat(70_000) }] })
    expect(body.tooLarge).toEqual([held])
    expect((await ledger.execution(executionId!)).running).toMatchObject({ progress: '1' })
    await worker.succeed(held)
  })
})
