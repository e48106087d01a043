import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fitsContract } from '../../support/contract-check.ts'
import { until } from '../../support/until.ts'
import { type WorkedNode, workedNode } from './worked-node.ts'

let node: WorkedNode
const hourMs = 3_600_000
/** The jobs here fire every hour, half an hour away from now: none of them fires by itself meanwhile. */
const latest = Math.floor(Date.now() / 60_000) * 60_000 - hourMs / 2
const hour = (back: number) => latest - back * hourMs
const schedule = `${new Date(latest).getUTCMinutes()} * * * *`
const iso = (ms: number) => new Date(ms).toISOString()

beforeAll(async () => {
  node = await workedNode()
  await node.sql.query(`insert into carillon.pools (pool) values ('idle')`)
})
afterAll(() => node[Symbol.asyncDispose]())

async function createJob(more: object = {}): Promise<string> {
  const job = { name: 'hourly', type: 'CRON', schedule, target: { handler: 'act', pool: 'default' } }
  const { status, body } = await node.ask('POST /v1/jobs', { ...job, payload: { how: 'answer' }, ...more })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body.jobId
}

async function ask(jobId: string, range: [number, number], more: object = {}, headers = {}) {
  const body = { from: iso(range[0]), to: iso(range[1]), ...more }
  const answer = await node.ask(`POST /v1/jobs/${jobId}/backfill`, body, headers)
  if (answer.status < 300) fitsContract('backfillJob', answer)
  return answer
}

const read = async (id: string) => (await node.ask(`GET /v1/operations/${id}`)).body

async function run(jobId: string, range: [number, number], more: object = {}) {
  const { status, body } = await ask(jobId, range, more)
  expect(status, JSON.stringify(body)).toBe(202)
  await until(async () => (await read(body.operationId)).state !== 'RUNNING')
  return read(body.operationId)
}

interface Shown {
  executionId: string
  scheduledFor: string
  state: string
  reason: string | null
  origin: string
  priority: string
  skippedCount: number | null
  timeline: { to: string; reason?: string }[]
}

/** Oldest first. */
const executions = async (jobId: string): Promise<Shown[]> =>
  (await node.ask(`GET /v1/jobs/${jobId}/executions`)).body.items.toReversed()

const times = (shown: Shown[]) => shown.map(({ scheduledFor }) => Date.parse(scheduledFor))

describe('a backfill', () => {
  it('runs the occurrences that have no record, behind live work, and only once', async () => {
    const jobId = await createJob()
    const before = (await node.ask(`GET /v1/jobs/${jobId}`)).body
    const dry = await ask(jobId, [hour(6), hour(1)], { dryRun: true })
    expect(dry.body).toEqual({ count: 5, exact: true })
    expect(await executions(jobId)).toEqual([])
    expect(await run(jobId, [hour(6), hour(1)])).toMatchObject({
      kind: 'BACKFILL',
      state: 'SUCCEEDED',
      total: 5,
      done: 5,
    })
    const shown = await executions(jobId)
    expect(times(shown)).toEqual([6, 5, 4, 3, 2].map(hour))
    for (const each of shown) expect(each).toMatchObject({ state: 'SUCCEEDED', origin: 'BACKFILL', priority: 'LOW' })
    expect(await run(jobId, [hour(8), hour(1)])).toMatchObject({ total: 2, done: 2, skipped: 5 })
    expect((await ask(jobId, [hour(8), hour(1)], { dryRun: true })).body.count).toBe(0)
    const after = (await node.ask(`GET /v1/jobs/${jobId}`)).body
    expect(after.nextFireAt).toBe(before.nextFireAt)
    expect(after.version).toBe(before.version)
  })

  it('of a paused job: what passed in the pause is SKIPPED, and run if asked for', async () => {
    const jobId = await createJob()
    await node.ask(`POST /v1/jobs/${jobId}/pause`)
    await node.sql.query('update carillon.schedules set nominal = $2 where job_id = $1', [jobId, iso(hour(6))])
    expect(await run(jobId, [hour(8), hour(2)])).toMatchObject({ total: 2, done: 2, skipped: 4 })
    const [, , row] = await executions(jobId)
    expect(row).toMatchObject({ state: 'SKIPPED', reason: 'PAUSED', skippedCount: 7 })
    expect((await ask(jobId, [hour(4), hour(2)], { dryRun: true, includeSkipped: true })).body.count).toBe(2)
    expect(await run(jobId, [hour(4), hour(2)], { includeSkipped: true })).toMatchObject({ total: 2, done: 2 })
    // Each occurrence is in one row: two before, two that ran, three after them.
    const shown = (await executions(jobId)).slice(2)
    expect(times(shown)).toEqual([6, 4, 3, 2].map(hour))
    expect(shown.map(({ state, skippedCount }) => [state, skippedCount])).toEqual([
      ['SKIPPED', 2],
      ['SUCCEEDED', null],
      ['SUCCEEDED', null],
      ['SKIPPED', 3],
    ])
    expect(shown[1]!.timeline.map(({ to }) => to)).toEqual(['SKIPPED', 'PENDING', 'RUNNING', 'SUCCEEDED'])
    expect(await run(jobId, [hour(6), hour(0)], { includeSkipped: true })).toMatchObject({
      error: null,
      done: 4,
      skipped: 2,
    })
    expect((await executions(jobId)).filter(({ state }) => state === 'SKIPPED')).toMatchObject([{ skippedCount: null }])
    expect((await node.ask(`GET /v1/jobs/${jobId}`)).body.state).toBe('PAUSED')
    const dead = await node.sql.query(
      `select count(*)::int n from carillon.endings n join carillon.executions e using (execution_id)
       where e.job_id = $1 and e.state is distinct from n.state`,
      [jobId],
    )
    expect(dead.rows[0].n).toBe(0)
  })

  it('lets no more go at once than it may', async () => {
    const jobId = await createJob({ payload: { how: 'stay' } })
    const { operationId } = (await ask(jobId, [hour(9), hour(1)], { concurrency: 3 })).body
    const unfinished = async () => (await executions(jobId)).filter(({ state }) => state !== 'SUCCEEDED').length
    await until(async () => (await unfinished()) === 3)
    let most = 0
    await until(async () => {
      most = Math.max(most, await unfinished())
      node.letGo()
      return (await read(operationId)).state === 'SUCCEEDED'
    })
    expect(most).toBe(3)
    expect(await executions(jobId)).toHaveLength(8)
  })

  it('of a job that forbids overlap goes one by one and skips nothing', async () => {
    const jobId = await createJob({ overlap: 'FORBID' })
    expect(await run(jobId, [hour(7), hour(1)])).toMatchObject({ state: 'SUCCEEDED', done: 6, skipped: 0 })
    const shown = (await node.ask(`GET /v1/jobs/${jobId}/executions`)).body.items.toReversed()
    expect(shown).toHaveLength(6)
    for (const [i, each] of shown.entries()) {
      expect(each.state).toBe('SUCCEEDED')
      if (i > 0) expect(Date.parse(each.startedAt)).toBeGreaterThanOrEqual(Date.parse(shown[i - 1].finishedAt))
    }
  })

  it('keeps to maxFires, startAt and endAt', async () => {
    const few = await createJob({ maxFires: 3 })
    expect((await ask(few, [hour(6), hour(1)], { dryRun: true })).body).toEqual({ count: 3, exact: true })
    expect(await run(few, [hour(6), hour(1)])).toMatchObject({ state: 'SUCCEEDED', done: 3 })
    expect(times(await executions(few))).toEqual([6, 5, 4].map(hour))
    const { operationId } = (await ask(few, [hour(6), hour(1)])).body
    await until(async () => (await read(operationId)).state === 'SUCCEEDED')
    const bounded = await createJob({ startAt: iso(hour(4)), endAt: iso(Date.now() + 48 * hourMs) })
    expect((await ask(bounded, [hour(6), hour(1)], { dryRun: true })).body.count).toBe(3)
  })

  it('stops when it is told to, and fails when the job is deleted', async () => {
    const target = { handler: 'act', pool: 'idle' }
    const jobId = await createJob({ target })
    const { operationId } = (await ask(jobId, [hour(9), hour(1)], { concurrency: 2 })).body
    await until(async () => (await read(operationId)).done === 2)
    expect((await node.ask(`POST /v1/operations/${operationId}/cancel`)).body.state).toBe('CANCELLED')
    expect(await executions(jobId)).toHaveLength(2)
    const other = await createJob({ target })
    const begun = (await ask(other, [hour(9), hour(1)], { concurrency: 2 })).body
    await until(async () => (await read(begun.operationId)).done === 2)
    await node.ask(`DELETE /v1/jobs/${other}`)
    await until(async () => (await read(begun.operationId)).state !== 'RUNNING')
    expect(await read(begun.operationId)).toMatchObject({ state: 'FAILED', error: 'the job was deleted' })
  })

  it('is begun once for one Idempotency-Key', async () => {
    const jobId = await createJob()
    const headers = { 'idempotency-key': 'k' }
    const range: [number, number] = [hour(3), hour(2)]
    const answers = await Promise.all([ask(jobId, range, {}, headers), ask(jobId, range, {}, headers)])
    expect(new Set(answers.map(({ body }) => body.operationId)).size).toBe(1)
  })

  it('refuses what cannot be filled', async () => {
    const jobId = await createJob()
    const once = await node.submit({ how: 'answer' }, { type: 'DELAYED', delayMs: hourMs })
    const tomorrow = Date.now() + 24 * hourMs
    for (const [id, range, code, pointer] of [
      [jobId, [hour(3), tomorrow], 'VALIDATION', '/to'],
      [jobId, [hour(1), hour(1)], 'VALIDATION', '/to'],
      [jobId, [hour(72), hour(1)], 'OCCURRENCE_TOO_OLD', '/from'],
      [once, [hour(3), hour(1)], 'STATE_CONFLICT', undefined],
      ['00000000-0000-8000-8000-000000000000', [hour(3), hour(1)], 'JOB_NOT_FOUND', undefined],
    ] as const) {
      const { body } = await ask(id, [...range])
      expect({ code: body.code, pointer: body.errors[0].pointer }).toEqual({ code, pointer })
    }
    const elsewhere = await ask(jobId, [hour(3), hour(1)], {}, { 'carillon-tenant': 'other' })
    expect(elsewhere.status).toBe(404)
  })
})
