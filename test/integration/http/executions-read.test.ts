import type { LogLine } from '@carillon/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../../packages/server/src/domain/identity.ts'
import { fitsContract } from '../../support/contract-check.ts'
import { type WorkedNode, workedNode } from './worked-node.ts'

let node: WorkedNode

beforeAll(async () => {
  node = await workedNode()
})
afterAll(() => node[Symbol.asyncDispose]())

const get = async (id: string, query = '') => {
  const answer = await node.ask(`GET /v1/executions/${id}${query}`)
  if (answer.status === 200) fitsContract('getExecution', answer)
  return answer
}

describe('an execution, read over HTTP', () => {
  it('is waited for, and shows all that happened', async () => {
    const id = await node.submit({ how: 'answer', value: [1, null] }, { labels: { team: 'x' } })
    const { body } = await get(id, '?waitSec=10')
    expect(body).toMatchObject({
      ...{ executionId: id, jobId: id, name: 'n', state: 'SUCCEEDED', result: [1, null], attempt: 1, maxAttempts: 4 },
      ...{ origin: 'SUBMIT', priority: 'NORMAL', labels: { team: 'x' }, dagRunId: null, traceId: null, error: null },
      payload: { how: 'answer', value: [1, null] },
    })
    expect(body.timeline.map((entry: { to: string }) => entry.to)).toEqual(['PENDING', 'RUNNING', 'SUCCEEDED'])
    expect(Date.parse(body.finishedAt)).toBeGreaterThanOrEqual(Date.parse(body.startedAt))
    expect((await get(id.toUpperCase())).body.executionId).toBe(id)
  })

  it('keeps numbers that no double holds', async () => {
    const body = '{"name":"n","type":"ONE_SHOT","target":{"handler":"nobody"},"payload":{"n":1.0}}'
    const { jobId } = (await node.ask('POST /v1/jobs', body, { 'content-type': 'application/json' })).body
    await node.sql.query(
      `update carillon.executions set payload = '{"n": 12345678901234567890}' where execution_id = $1`,
      [jobId],
    )
    const text = await (await fetch(`${node.url}/v1/executions/${jobId}`)).text()
    expect(text).toContain('"payload":{"n": 12345678901234567890}')
  })

  it('that fails shows its attempts, and its log', async () => {
    const retryPolicy = { maxAttempts: 2, initialDelayMs: 1, jitter: 0 }
    const id = await node.submit({ how: 'throw' }, { retryPolicy })
    const { body } = await get(id, '?waitSec=10')
    expect(body).toMatchObject({ state: 'DEAD', attempt: 2, maxAttempts: 2, error: { name: 'TypeError' } })
    expect(body.attempts.map((entry: { attempt: number }) => entry.attempt)).toEqual([1, 2])
    expect(body.timeline.map((entry: { to: string }) => entry.to)).toEqual(['PENDING', 'FAILED', 'FAILED', 'DEAD'])
    const logs = await node.ask(`GET /v1/executions/${id}/logs`)
    fitsContract('getExecutionLogs', logs)
    const attempts = (logs.body.lines as LogLine[]).map(({ attempt, text }) => `${attempt} ${text}`)
    expect(attempts).toEqual(['1 first', '1 second', '2 first', '2 second'])
  })

  it('is shown as it stands when the wait is over, and waiting ends with the client', async () => {
    const id = await node.submit({ how: 'stay' })
    await node.reach(id, 'RUNNING')
    const { body } = await get(id, '?waitSec=0.05')
    expect(body).toMatchObject({ state: 'RUNNING', attempt: 1, finishedAt: null })
    expect(body.timeline.at(-1)).toMatchObject({ to: 'RUNNING', workerId: body.workerId, fence: body.fence })
    const gone = fetch(`${node.url}/v1/executions/${id}?waitSec=60`, { signal: AbortSignal.timeout(50) })
    await expect(gone).rejects.toThrow()
    node.letGo()
    await node.reach(id, 'SUCCEEDED')
  })

  it('that is still to come says so, and can be waited for', async () => {
    const far = await node.submit({ how: 'answer' }, { type: 'DELAYED', delayMs: 3_600_000 })
    const { status, body } = await get(far)
    expect({ status, code: body.code }).toEqual({ status: 404, code: 'EXECUTION_TO_COME' })
    expect(body.detail).toContain('it is due at')
    expect((await get(far, '?waitSec=0.05')).body.code).toBe('EXECUTION_TO_COME')
    const near = await node.submit({ how: 'answer', value: 7 }, { type: 'DELAYED', delayMs: 300 })
    expect((await get(near, '?waitSec=10')).body).toMatchObject({ executionId: near, state: 'SUCCEEDED', result: 7 })
  })

  it('of another tenant, or that never was, is not there', async () => {
    const id = await node.submit({ how: 'answer' })
    const other = { 'carillon-tenant': 'other' }
    const unknown = newId(Date.now())
    for (const path of ['', '/logs', '/explain', '?waitSec=1']) {
      for (const [asked, headers] of [
        [id, other],
        [unknown, {}],
      ] as const) {
        const { status, body } = await node.ask(`GET /v1/executions/${asked}${path}`, undefined, headers)
        expect({ path, status, code: body.code }).toEqual({ path, status: 404, code: 'EXECUTION_NOT_FOUND' })
      }
    }
    for (const verb of ['cancel', 'retry']) {
      expect((await node.ask(`POST /v1/executions/${id}/${verb}`, undefined, other)).status).toBe(404)
    }
  })

  it('is refused when the id is none', async () => {
    for (const id of ['x', `urn:uuid:${newId(1)}`, `${newId(1)}0`]) expect((await get(id)).status).toBe(422)
    expect((await get(newId(1), '?waitSec=61')).status).toBe(422)
  })
})

describe('one execution, changed over HTTP', () => {
  it('is cancelled before it starts, while it runs, and before its time', async () => {
    const running = await node.submit({ how: 'stay' })
    await node.reach(running, 'RUNNING')
    const flagged = await node.ask(`POST /v1/executions/${running}/cancel`)
    fitsContract('cancelExecution', flagged)
    expect(flagged.body).toEqual({ executionId: running, outcome: 'CANCELLING' })
    expect(await node.reach(running, 'CANCELLED')).toMatchObject({ state: 'CANCELLED' })
    const waiting = await node.submit({}, { target: { handler: 'nobody', pool: 'default' }, startWithinSec: 500 })
    expect((await node.ask(`POST /v1/executions/${waiting}/cancel`)).body.outcome).toMatch(/^CANCELL/)
    const coming = await node.submit({ how: 'answer' }, { type: 'DELAYED', delayMs: 3_600_000 })
    expect((await node.ask(`POST /v1/executions/${coming}/cancel`)).body.outcome).toBe('CANCELLED')
    for (const id of [coming, running]) {
      expect((await node.ask(`POST /v1/executions/${id}/cancel`)).body.outcome).toBe('ENDED')
    }
  })

  it('that was cancelled before its time stays known as CANCELLED, however it was submitted', async () => {
    const delayed = await node.submit({ how: 'answer' }, { type: 'DELAYED', delayMs: 3_600_000 })
    const dated = await node.submit({ how: 'answer' }, { type: 'ONE_SHOT', runAt: '2090-01-01T00:00:00Z' })
    const { rows } = await node.sql.query(
      `select carillon.enqueue('act', '{"how":"answer"}', run_at => '2090-01-01T00:00:00Z') id`,
    )
    for (const id of [delayed, dated, rows[0].id as string]) {
      const waiting = get(id, '?waitSec=30')
      expect((await node.ask(`POST /v1/executions/${id}/cancel`)).body.outcome).toBe('CANCELLED')
      const answer = await waiting
      fitsContract('getExecution', answer)
      expect(answer.body).toMatchObject({ executionId: id, state: 'CANCELLED', reason: 'CANCELLED', attempt: 0 })
      expect(answer.body.payload).toEqual({ how: 'answer' })
      expect((await get(id)).body).toEqual(answer.body)
      expect((await node.ask(`GET /v1/executions/${id}/explain`)).body.state).toBe('CANCELLED')
      const replayed = await node.ask(`POST /v1/executions/${id}/retry`)
      expect(replayed.body).toMatchObject({ code: 'STATE_CONFLICT', detail: expect.stringMatching(/before it fired/) })
    }
  })

  it('a recurring job is not cancelled with it', async () => {
    const job = { name: 'n', type: 'INTERVAL', interval: 'PT1H', target: { handler: 'act', pool: 'default' } }
    const { jobId } = (await node.ask('POST /v1/jobs', job)).body
    expect((await node.ask(`POST /v1/executions/${jobId}/cancel`)).body.code).toBe('EXECUTION_NOT_FOUND')
    expect((await node.ask(`GET /v1/jobs/${jobId}`)).body.state).toBe('ACTIVE')
  })

  it('is replayed, once it has ended badly', async () => {
    const id = await node.submit({ how: 'throw' }, { retryPolicy: { maxAttempts: 1 } })
    await node.reach(id, 'DEAD')
    const back = await node.ask(`POST /v1/executions/${id}/retry`)
    fitsContract('retryExecution', back)
    expect(back.body.timeline).toEqual(expect.arrayContaining([expect.objectContaining({ reason: 'REPLAYED' })]))
    const again = await node.reach(id, 'DEAD')
    expect(again.attempt).toBe(1)
    const good = await node.submit({ how: 'answer' })
    await node.reach(good, 'SUCCEEDED')
    expect((await node.ask(`POST /v1/executions/${good}/retry`)).body.code).toBe('STATE_CONFLICT')
  })
})
