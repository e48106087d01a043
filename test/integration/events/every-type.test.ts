/** Every change gives its event: each type at least once, in the order of life, with what it should say. */
import { type Event, eventTypes } from '@carillon/contract'
import { Event as EventSchema } from '@carillon/contract/api'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../support/until.ts'
import { type WorkedNode, workedNode } from '../http/worked-node.ts'
import { Tail } from './tail.ts'

let on: WorkedNode
let tail: Tail

beforeAll(async () => {
  on = await workedNode()
  await on.ask('POST /v1/pools', { name: 'idle' })
  tail = await Tail.open(on.url)
})
afterAll(async () => {
  await tail?.close()
  await on?.[Symbol.asyncDispose]()
})

const target = { handler: 'act' }
const yearly = { type: 'CRON', schedule: '0 3 1 1 *', target }
/** Nobody serves its pool. */
const never = { type: 'ONE_SHOT', target: { pool: 'idle', handler: 'h' } }
const retryAtOnce = { retryPolicy: { maxAttempts: 2, initialDelayMs: 0, jitter: 0 } }

async function must(what: string, body?: unknown) {
  const answer = await on.ask(what, body)
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}

describe('executions', () => {
  it('that succeed: fired, started, succeeded', async () => {
    const id = await on.submit({ how: 'answer' })
    await tail.until((t) => t.of(id).includes('execution.succeeded'))
    expect(tail.of(id)).toEqual(['execution.fired', 'execution.started', 'execution.succeeded'])
    expect(tail.find('execution.fired', id)).toMatchObject({
      ...{ tenant: 'default', jobId: id, executionId: id },
      detail: { handler: 'act', pool: 'default', origin: 'SUBMIT' },
    })
    expect(tail.find('execution.started', id)!.detail).toMatchObject({ attempt: 1, handler: 'act' })
    expect(tail.find('execution.succeeded', id)!.detail).toMatchObject({ attempt: 1, outcome: 'SUCCEEDED' })
  })

  it('that fail: every attempt, and what follows from it', async () => {
    const id = await on.submit({ how: 'throw' }, retryAtOnce)
    await tail.until((t) => t.of(id).includes('execution.dead'))
    expect(tail.of(id)).toEqual([
      ...['execution.fired', 'execution.started', 'execution.failed', 'execution.retrying'],
      ...['execution.started', 'execution.failed', 'execution.dead'],
    ])
    const error = { name: 'TypeError', message: 'it is thrown' }
    expect(tail.find('execution.failed', id)!.detail).toMatchObject({ outcome: 'FAILED', attempt: 1, error })
    expect(tail.find('execution.retrying', id)!.detail.retryAt).toMatch(/Z$/)
    expect(tail.find('execution.dead', id)!.detail).toMatchObject({ attempt: 2, error })

    await must(`POST /v1/executions/${id}/retry`)
    await tail.until((t) => t.of(id).filter((type) => type === 'execution.dead').length === 2)
    expect(tail.of(id).slice(7, 9)).toEqual(['execution.retrying', 'execution.started'])
    const replayed = tail.events.filter(
      ({ executionId, type }) => executionId === id && type === 'execution.retrying',
    )[1]
    expect(replayed!.detail.actor).toBe('anonymous')
  })

  it('that are cancelled: before they start, and while they run', async () => {
    const { jobId: pending } = await must('POST /v1/jobs', never)
    await must(`POST /v1/executions/${pending}/cancel`)
    const running = await on.submit({ how: 'stay' })
    await on.reach(running, 'RUNNING')
    await must(`POST /v1/executions/${running}/cancel`)
    await tail.until((t) => [pending, running].every((id) => t.of(id).includes('execution.cancelled')))
    expect(tail.of(pending)).toEqual(['execution.fired', 'execution.cancelled'])
    expect(tail.of(running)).toEqual(['execution.fired', 'execution.started', 'execution.cancelled'])
    for (const id of [pending, running]) {
      const { detail } = tail.find('execution.cancelled', id)!
      expect(detail).toMatchObject({ reason: 'CANCELLED', actor: 'anonymous' })
    }
  })

  it('that are handed back: they are tried again, and no attempt has failed', async () => {
    const { workerId } = await must('POST /v1/workers', {
      ...{ name: 'by hand', pools: [{ pool: 'by-hand', handlers: ['h'], slots: 1 }] },
    })
    const { jobId: id } = await must('POST /v1/jobs', { type: 'ONE_SHOT', target: { pool: 'by-hand', handler: 'h' } })
    await must(`POST /v1/workers/${workerId}/lease`, { pool: 'by-hand', slots: 1, waitMs: 10_000 })
    await must(`DELETE /v1/workers/${workerId}`)
    await tail.until((t) => t.of(id).includes('execution.retrying'))
    expect(tail.of(id)).toEqual(['execution.fired', 'execution.started', 'execution.retrying'])
    expect(tail.find('execution.retrying', id)!.detail.outcome).toBe('HANDED_BACK')
  })

  it('that report progress: once a second at the most, with what fits', async () => {
    const { workerId } = await must('POST /v1/workers', {
      ...{ name: 'by hand', pools: [{ pool: 'slow', handlers: ['h'], slots: 1 }] },
    })
    const { jobId: id } = await must('POST /v1/jobs', { type: 'ONE_SHOT', target: { pool: 'slow', handler: 'h' } })
    const { executions } = await must(`POST /v1/workers/${workerId}/lease`, { pool: 'slow', slots: 1, waitMs: 10_000 })
    const { executionId, fence } = executions[0]
    const told = () => tail.events.filter((event) => event.executionId === id && event.type === 'execution.progress')
    const report = (progress: unknown) =>
      must(`POST /v1/workers/${workerId}/report`, { progress: [{ executionId, fence, progress }] })
    await report({ rows: 1 })
    await tail.until(() => told().length === 1)
    expect(told()[0]!.detail).toEqual({ handler: 'h', attempt: 1, workerId, progress: { rows: 1 } })
    for (const large of ['x'.repeat(5_000), '\ud800', '\u0000']) {
      const before = told().length
      await until(async () => {
        await report(large)
        return told().length > before
      })
      expect(told().at(-1)!.detail).toEqual({ handler: 'h', attempt: 1, workerId })
    }
    const seconds = told().map(({ at }) => at.slice(0, 19))
    expect(new Set(seconds).size).toBe(seconds.length)
    await must(`POST /v1/workers/${workerId}/report`, { outcomes: [{ executionId, fence, outcome: 'SUCCEEDED' }] })
  })

  it('that expire before anybody starts them, and those that overlap forbids: skipped', async () => {
    const { jobId: late } = await must('POST /v1/jobs', { ...never, startWithinSec: 1 })
    const guarded = await must('POST /v1/jobs', { ...yearly, payload: { how: 'stay' }, overlap: 'FORBID' })
    await must(`POST /v1/jobs/${guarded.jobId}/trigger`, {})
    expect((await on.ask(`POST /v1/jobs/${guarded.jobId}/trigger`, {})).body.code).toBe('OVERLAP_FORBIDDEN')
    await tail.until((t) => t.of(late).includes('execution.skipped') && t.types.includes('execution.skipped'))
    expect(tail.find('execution.skipped', late)!.detail).toMatchObject({ reason: 'EXPIRED' })
    const skipped = tail.events.filter(({ jobId, type }) => jobId === guarded.jobId && type === 'execution.skipped')
    expect(skipped).toMatchObject([{ detail: { reason: 'OVERLAP', origin: 'TRIGGER' } }])
    on.letGo()
  })

  it('that a schedule fires, that a backfill fills in, that SQL enqueues: fired', async () => {
    const { jobId } = await must('POST /v1/jobs', {
      ...{ type: 'INTERVAL', interval: 'PT1S', target, payload: { how: 'answer' }, maxFires: 2 },
    })
    const { rows } = await on.sql.query(`select carillon.enqueue('act', '{"how": "answer"}') id`)
    await tail.until((t) => t.of(rows[0].id).includes('execution.succeeded'))
    await tail.until((t) => t.of(jobId).includes('job.completed'))
    const fired = tail.events.filter((event) => event.jobId === jobId && event.type === 'execution.fired')
    expect(fired.map(({ detail }) => detail.origin)).toEqual(['SCHEDULE', 'SCHEDULE'])
    expect(fired[1]!.eventId).toBeLessThan(tail.find('job.completed', jobId)!.eventId)

    const { jobId: hourly } = await must('POST /v1/jobs', {
      ...{ type: 'CRON', schedule: '0 * * * *', target, payload: { how: 'answer' } },
    })
    const from = new Date(Date.now() - 3 * 3_600_000).toISOString()
    await must(`POST /v1/jobs/${hourly}/backfill`, { from, to: new Date().toISOString() })
    const filled = () =>
      tail.events.filter(({ jobId, type, detail }) => {
        return jobId === hourly && type === 'execution.fired' && detail.origin === 'BACKFILL'
      })
    await tail.until(() => filled().length === 3)
  })
})

describe('jobs', () => {
  it('are created, changed, paused, resumed, deleted', async () => {
    const { jobId } = await must('POST /v1/jobs', { ...yearly, key: 'told' })
    await must(`PATCH /v1/jobs/${jobId}`, { priority: 'LOW' })
    await must(`POST /v1/jobs/${jobId}/pause`)
    await must(`POST /v1/jobs/${jobId}/resume`)
    await must(`DELETE /v1/jobs/${jobId}`)
    await tail.until((t) => t.of(jobId).includes('job.deleted'))
    expect(tail.of(jobId)).toEqual(['job.created', 'job.updated', 'job.paused', 'job.resumed', 'job.deleted'])
    const detail = { key: 'told', actor: 'anonymous' }
    expect(tail.events.filter((event) => event.jobId === jobId)).toMatchObject([
      { detail: { ...detail, state: 'ACTIVE', version: 1 } },
      { detail: { ...detail, state: 'ACTIVE', version: 2 } },
      { detail: { ...detail, state: 'PAUSED', version: 2 } },
      { detail: { ...detail, state: 'ACTIVE', version: 2 } },
      { detail: { ...detail, state: 'DELETED', version: 2 } },
    ])
  })

  it('that run once are over when they have fired, or gone when something takes their place', async () => {
    const later = { type: 'DELAYED', delayMs: 1_000, target, payload: { how: 'answer' } }
    const { jobId } = await must('POST /v1/jobs', later)
    await tail.until((t) => t.of(jobId).includes('job.completed'))
    const far = { ...later, delayMs: 86_400_000, dedupe: { key: 'k', while: 'PENDING', onDuplicate: 'REPLACE' } }
    const { jobId: replaced } = await must('POST /v1/jobs', far)
    await must('POST /v1/jobs', far)
    await tail.until((t) => t.of(replaced).includes('job.deleted'))
    expect(tail.of(replaced)).toEqual(['job.created', 'job.deleted'])
  })

  it('that are paused because they fail', async () => {
    const { jobId } = await must('POST /v1/jobs', {
      ...{ type: 'INTERVAL', interval: 'PT1S', target, payload: { how: 'throw' } },
      ...{ retryPolicy: { maxAttempts: 1 }, pauseAfterFailures: 1 },
    })
    await tail.until((t) => t.of(jobId).includes('job.paused'))
  })
})

describe('runs of graphs', () => {
  const step = (name: string, how: string) => ({ name, target, payload: { how }, retryPolicy: { maxAttempts: 1 } })
  const ofRun = (runId: string) => tail.events.filter(({ jobId }) => jobId === runId)

  it('that succeed, fail and are cancelled: started, what their steps do, how they ended', async () => {
    const { runId } = await must('POST /v1/dag-runs', { name: 'two', steps: [step('a', 'answer')] })
    await tail.until((t) => t.of(runId).includes('dag_run.succeeded'))
    expect(ofRun(runId).map(({ type }) => type)).toEqual([
      ...['execution.fired', 'dag_run.started', 'execution.started', 'execution.succeeded', 'dag_run.succeeded'],
    ])
    expect(ofRun(runId)[1]).toMatchObject({ detail: { name: 'two', count: 1, actor: 'anonymous' } })
    const failing = await must('POST /v1/dag-runs', { steps: [step('a', 'throw')] })
    await tail.until((t) => t.of(failing.runId).includes('dag_run.failed'))
    expect(ofRun(failing.runId).at(-1)!.detail).toMatchObject({ reason: 'STEP_FAILED' })
    const waiting = await must('POST /v1/dag-runs', { steps: [{ name: 'a', waitFor: 'SIGNAL' }] })
    await must(`POST /v1/dag-runs/${waiting.runId}/cancel`)
    await tail.until((t) => t.of(waiting.runId).includes('dag_run.cancelled'))
  })
})

describe('altogether', () => {
  it('every type was told, each event is one line of the contract, ids only grow', async () => {
    await until(() => eventTypes.every((type) => tail.types.includes(type)))
    const ajv = new Ajv({ strict: false })
    ;(formats as unknown as (ajv: Ajv) => void)(ajv)
    const fits = ajv.compile<Event>(EventSchema)
    for (const event of tail.events) expect(fits(event), JSON.stringify([event, fits.errors])).toBe(true)
    expect(tail.ids).toEqual([...new Set(tail.ids)].sort((a, b) => a - b))
    expect(tail.types).not.toContain('reset')
    expect(tail.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  })

  it('every end in the ledger has its event, and every event its end', async () => {
    const { rows } = await on.sql.query<{ execution_id: string; state: string }>(
      `select execution_id, state from carillon.executions where state is not null`,
    )
    const told = (id: string) => tail.of(id).filter((type) => /succeeded|dead|cancelled|skipped/.test(type))
    await tail.until(() => rows.every(({ execution_id }) => told(execution_id).length > 0))
    for (const { execution_id: id, state } of rows) expect(told(id).at(-1)).toBe(`execution.${state.toLowerCase()}`)
  })
})
