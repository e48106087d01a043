import type { DagRun } from '@carillon/contract'
import { silentLogger } from '@carillon/contract/process'
import { describe, expect, it } from 'vitest'
import { problem, type ScriptedServer, scriptedServer } from '../http/testing/scripted-server.ts'
import { type Client, createClient } from './client.ts'

const runId = '01900000-0000-7000-8000-000000000001'
const steps = [{ name: 'extract', target: { handler: 'extract' }, payload: { n: 1 } }]

async function clientOf(answer?: ScriptedServer['answer']) {
  const server = await scriptedServer(answer)
  const client = createClient({ urls: [server.url], logger: silentLogger, patienceMs: 0 })
  const dispose = async () => {
    await client.close()
    await server.die()
  }
  return { server, client, [Symbol.asyncDispose]: dispose }
}

type Ask = (client: Client) => Promise<unknown>
const asks: [string, Ask, unknown?][] = [
  ['POST /v1/dags', ({ dags }) => dags.create({ key: 'k', steps }), { key: 'k', steps }],
  ['GET /v1/dags?key=a+b&limit=3', ({ dags }) => dags.list({ key: 'a b', limit: 3 })],
  ['GET /v1/dags/a%2Fb', ({ dags }) => dags.get('a/b')],
  ['PUT /v1/dags/k', ({ dags }) => dags.replace('k', { steps }, { version: 4 }), { steps }],
  ['DELETE /v1/dags/k', ({ dags }) => dags.delete('k')],
  ['POST /v1/dags/k/runs', ({ dags }) => dags.run('k', { payload: [1] }), { payload: [1] }],
  ['POST /v1/dags/k/runs', ({ dags }) => dags.run('k'), {}],
  ['POST /v1/dag-runs', ({ dagRuns }) => dagRuns.start({ steps }), { steps }],
  ['GET /v1/dag-runs?dagId=k&state=FAILED', ({ dagRuns }) => dagRuns.list({ dagId: 'k', state: 'FAILED' })],
  [`GET /v1/dag-runs/${runId}`, ({ dagRuns }) => dagRuns.get(runId)],
  [`POST /v1/dag-runs/${runId}/cancel`, ({ dagRuns }) => dagRuns.cancel(runId)],
  [`POST /v1/dag-runs/${runId}/pause`, ({ dagRuns }) => dagRuns.pause(runId)],
  [`POST /v1/dag-runs/${runId}/resume`, ({ dagRuns }) => dagRuns.resume(runId)],
  [`POST /v1/dag-runs/${runId}/retry`, ({ dagRuns }) => dagRuns.retry(runId)],
]

describe('graphs and their runs', () => {
  it.each(asks)('%s', async (request, ask, body) => {
    await using on = await clientOf(() => ({ body: { an: 'answer' } }))
    const answer = await ask(on.client)
    const [seen] = on.server.seen
    expect(`${seen!.method} ${seen!.path}`).toBe(request)
    expect(seen!.body === '' ? undefined : JSON.parse(seen!.body)).toEqual(body)
    expect(answer).toEqual(request.startsWith('DELETE') ? undefined : { an: 'answer' })
    const creates = /^POST (\/v1\/dags|\/v1\/dags\/k\/runs|\/v1\/dag-runs)$/.test(request)
    expect('idempotency-key' in seen!.headers).toBe(creates)
    expect(seen!.headers['if-match']).toBe(request.startsWith('PUT') ? '4' : undefined)
  })

  it('a run whose answer was lost is asked for again with the same key', async () => {
    let lost = 1
    await using on = await clientOf(() => (lost-- > 0 ? 'CUT' : { body: { runId } }))
    await using patient = createClient({ urls: [on.server.url], logger: silentLogger, patienceMs: 5_000 })
    expect(await patient.dags.run('k')).toEqual({ runId })
    const keys = on.server.seen.map(({ headers }) => headers['idempotency-key'])
    expect(keys).toHaveLength(2)
    expect(new Set(keys).size).toBe(1)
  })

  it('a caller may name what is started', async () => {
    await using on = await clientOf()
    await on.client.dags.run('k', {}, { idempotencyKey: 'monday' })
    await on.client.dagRuns.start({ steps }, { idempotencyKey: 'tuesday' })
    expect(on.server.seen.map(({ headers }) => headers['idempotency-key'])).toEqual(['monday', 'tuesday'])
    await expect(on.client.dags.run('k', {}, { key: 'monday' } as object)).rejects.toThrow('key is not known')
  })

  it('none with that name is null; other refusals are thrown', async () => {
    await using on = await clientOf(({ path }) =>
      problem(404, path.startsWith('/v1/dags') ? 'DAG_NOT_FOUND' : 'DAG_RUN_NOT_FOUND'),
    )
    expect(await on.client.dags.get('k')).toBeNull()
    expect(await on.client.dagRuns.get(runId)).toBeNull()
    await expect(on.client.dags.run('k')).rejects.toMatchObject({ code: 'DAG_NOT_FOUND' })
    await expect(on.client.dagRuns.wait(runId)).rejects.toMatchObject({ code: 'DAG_RUN_NOT_FOUND' })
  })

  it('refuses a payload that JSON cannot hold, before anything is sent', async () => {
    await using on = await clientOf()
    const payload = { n: Number.NaN }
    await expect(on.client.dags.run('k', { payload })).rejects.toMatchObject({ code: 'PAYLOAD_INVALID' })
    await expect(on.client.dagRuns.start({ steps, payload })).rejects.toMatchObject({ code: 'PAYLOAD_INVALID' })
    expect(on.server.seen).toEqual([])
  })
})

describe('waiting for a run', () => {
  const running = { body: { runId, state: 'RUNNING' } satisfies Partial<DagRun> }

  it('asks until it has ended, and gives it however it did', async () => {
    let more = 2
    const ended = { runId, state: 'FAILED', reason: 'STEP_FAILED' }
    await using on = await clientOf(() => (more-- > 0 ? running : { body: ended }))
    expect(await on.client.dagRuns.wait(runId)).toEqual(ended)
    expect(on.server.seen).toHaveLength(3)
  })

  it('throws after the time given, having asked at least once', async () => {
    await using on = await clientOf(() => running)
    await expect(on.client.dagRuns.wait(runId, { waitMs: 0 })).rejects.toThrow('has not ended within 0 ms; it goes on')
    expect(on.server.seen).toHaveLength(1)
    await expect(on.client.dagRuns.wait(runId, { waitMs: 150 })).rejects.toThrow('within 150 ms')
  })

  it('ends when its signal aborts: between two requests, and during one', async () => {
    let answer: 'SILENT' | typeof running = running
    await using on = await clientOf(() => answer)
    for (const silent of [false, true]) {
      const controller = new AbortController()
      on.server.seen.length = 0
      answer = silent ? 'SILENT' : running
      const waiting = on.client.dagRuns.wait(runId, { signal: controller.signal })
      waiting.catch(() => {})
      await expect.poll(() => on.server.seen.length).toBeGreaterThan(0)
      controller.abort(new Error('enough'))
      await expect(waiting).rejects.toThrow('enough')
    }
    await expect(on.client.dagRuns.wait(runId, { signal: AbortSignal.abort(new Error('at once')) })).rejects.toThrow(
      'at once',
    )
  })
})
