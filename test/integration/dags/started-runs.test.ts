/** Executions that stand for a run: steps over the items of a list, steps and jobs that run a graph. Over HTTP, with real workers. */
import { createClient, createWorker, defineHandler, implementHandler } from '@carillon/sdk'
import { createCarillon } from '@carillon/server'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes } from '../../support/carillon.ts'
import { fitsContract } from '../../support/contract-check.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { createDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

let node: HttpNode
let worker: ReturnType<typeof createWorker>
let client: ReturnType<typeof createClient>
const broken = new Set<string>()
const given: { step: string; payload: unknown; run: unknown }[] = []
const running = new Map<string, PromiseWithResolvers<string>>()
let active = 0
let mostActive = 0

beforeAll(async () => {
  node = await httpNode({ engine: quickTimes })
  const find = implementHandler(defineHandler<unknown>({ name: 'find' }), ({ payload }) => payload)
  const load = implementHandler(defineHandler<unknown>({ name: 'load' }), async ({ payload, dag }) => {
    active++
    mostActive = Math.max(mostActive, active)
    await new Promise((resolve) => setImmediate(resolve))
    active--
    given.push({ step: dag!.step, payload, run: dag!.payload })
    if (broken.has(String(payload))) throw new Error(`${payload} is broken`)
    return `loaded ${payload}`
  })
  const sum = implementHandler(defineHandler<unknown>({ name: 'sum' }), ({ dag }) => dag!.results)
  const hold = implementHandler(defineHandler<unknown>({ name: 'hold' }), ({ signal, dag }) => {
    const gate = Promise.withResolvers<string>()
    running.set(dag!.step, gate)
    signal.addEventListener('abort', () => gate.reject(signal.reason))
    return gate.promise
  })
  worker = createWorker({ urls: [node.url], handlers: [find, load, sum, hold] })
  await worker.start()
  client = createClient({ urls: [node.url] })
})
afterAll(async () => {
  for (const gate of running.values()) gate.resolve('done')
  await client.close()
  await worker.stop({ drainSec: 1 })
  await node[Symbol.asyncDispose]()
})

const once = { maxAttempts: 1 }
const target = (handler: string) => ({ target: { handler }, retryPolicy: once })
const files = (count: number) => Array.from({ length: count }, (_, at) => `file ${at}`)
const waitMs = 60_000
const runOf = async (runId: string) => (await client.dagRuns.get(runId))!
const stepOf = <S extends { name: string }>({ steps }: { steps: S[] }, name: string) =>
  steps.find((each) => each.name === name)!

function fanOut(list: unknown, more: object = {}) {
  return {
    steps: [
      { name: 'find', ...target('find'), payload: { files: list } },
      { name: 'load', ...target('load'), dependsOn: ['find'], forEach: 'results.find.files', ...more },
      { name: 'sum', ...target('sum'), dependsOn: ['load'] },
    ],
  }
}

describe('a step over the items of a list', () => {
  it('runs once for each, as many at once as it may, and passes on the results in order', async () => {
    mostActive = 0
    const { runId } = await client.dagRuns.start({
      ...fanOut(files(40), { concurrency: 3 }),
      payload: { day: 'monday' },
    })
    const run = await client.dagRuns.wait(runId, { waitMs })
    expect(run).toMatchObject({ state: 'SUCCEEDED', stepCount: 3 })
    const load = stepOf(run, 'load')
    expect(load).toMatchObject({
      state: 'SUCCEEDED',
      run: { stepCount: 40, doneCount: 40, failedCount: 0 },
    })
    const items = await node.ask(`GET /v1/dag-runs/${load.run!.runId}`)
    fitsContract('getDagRun', items)
    expect(items.body).toMatchObject({ fanOut: true, startedBy: load.executionId, payload: { day: 'monday' } })
    expect(items.body.steps.map(({ name }: { name: string }) => name)).toEqual(files(40).map((_, at) => `load.${at}`))
    const { result } = await client.executions.get(stepOf(run, 'sum').executionId)
    expect(result).toEqual({ load: files(40).map((file) => `loaded ${file}`) })
    expect(mostActive).toBeLessThanOrEqual(3)
    expect(given.find(({ step }) => step === 'load.7')).toEqual({
      step: 'load.7',
      payload: 'file 7',
      run: { day: 'monday' },
    })
    const listed = await client.dagRuns.list({ limit: 100 })
    expect(listed.items.map((each) => each.runId)).not.toContain(load.run!.runId)
  })

  it('of 500 files has SUCCEEDED with the failures that it allows, and is DEAD with more', async () => {
    for (const at of [3, 77, 200, 344, 499]) broken.add(`file ${at}`)
    const start = (maxFailures: number) => client.dagRuns.start(fanOut(files(500), { maxFailures }))
    const [within, beyond] = await Promise.all([start(5), start(4)])
    const good = await client.dagRuns.wait(within.runId, { waitMs })
    expect(good.state).toBe('SUCCEEDED')
    expect(stepOf(good, 'load').run).toMatchObject({ doneCount: 500, failedCount: 5 })
    const { result } = await client.executions.get(stepOf(good, 'load').executionId)
    const results = result as (string | null)[]
    expect(results.length).toBe(500)
    expect([results[2], results[3], results[499]]).toEqual(['loaded file 2', null, null])
    await client.dagRuns.wait(beyond.runId, { waitMs })
    // The execution of a run is told before its end is written.
    await until(async () => stepOf(await runOf(beyond.runId), 'load').run!.state === 'FAILED')
    const bad = await runOf(beyond.runId)
    expect(bad).toMatchObject({ state: 'FAILED', reason: 'STEP_FAILED' })
    expect(stepOf(bad, 'sum')).toMatchObject({ state: 'SKIPPED', reason: 'DEPENDENCY_FAILED' })
    expect(stepOf(bad, 'load')).toMatchObject({
      state: 'DEAD',
      run: { state: 'FAILED', doneCount: 500, failedCount: 5 },
      error: {
        name: 'RunFailed',
        message: expect.stringMatching(/^5 steps of the run .* failed, first load\.\d+: Error: file/),
      },
    })

    broken.clear()
    const before = given.length
    await client.dagRuns.retry(bad.runId)
    const again = await client.dagRuns.wait(bad.runId, { waitMs })
    expect(again.state).toBe('SUCCEEDED')
    expect(stepOf(again, 'load').run!.runId).toBe(stepOf(bad, 'load').run!.runId)
    expect(given.length - before).toBe(5)
  })

  it('has a result without items, and none without a list', async () => {
    const [empty, none, missing] = await Promise.all([
      client.dagRuns.start(fanOut([])),
      client.dagRuns.start(fanOut({ a: 1 })),
      client.dagRuns.start(fanOut([], { forEach: 'results.find.nothing' })),
    ])
    const run = await client.dagRuns.wait(empty.runId, { waitMs })
    expect(run.state).toBe('SUCCEEDED')
    expect(stepOf(run, 'load').run).toBeNull()
    expect((await client.executions.get(stepOf(run, 'load').executionId)).result).toEqual([])
    const message = async ({ runId }: { runId: string }) => {
      const { error, state, reason } = stepOf(await client.dagRuns.wait(runId, { waitMs }), 'load')
      return [state, reason, error?.message]
    }
    expect(await message(none)).toEqual(['DEAD', 'NOT_RETRYABLE', 'results.find.files is an object, not a list'])
    expect(await message(missing)).toEqual(['DEAD', 'NOT_RETRYABLE', 'results.find.nothing is not there'])
  })

  it('says so if the results are too large to be handed down', async () => {
    const { runId } = await client.dagRuns.start({
      steps: [
        { name: 'read', ...target('find'), forEach: 'payload', retryPolicy: once },
        { name: 'sum', ...target('sum'), dependsOn: ['read'] },
      ],
      payload: Array.from({ length: 5 }, () => 'x'.repeat(50_000)),
    })
    expect((await client.dagRuns.wait(runId, { waitMs })).state).toBe('SUCCEEDED')
    const large = implementHandler(defineHandler<unknown>({ name: 'large' }), () => 'x'.repeat(250_000))
    const other = createWorker({ urls: [node.url], handlers: [large] })
    await other.start()
    const started = await client.dagRuns.start({
      steps: [{ name: 'read', ...target('large'), forEach: 'payload' }],
      payload: [1, 2, 3, 4, 5],
    })
    const run = await client.dagRuns.wait(started.runId, { waitMs })
    await other.stop({ drainSec: 1 })
    expect(stepOf(run, 'read')).toMatchObject({ state: 'DEAD', error: { name: 'ResultTooLarge' } })
  })
})

describe('a step that runs a graph', () => {
  it('waits for the run, and has the results of its last steps', async () => {
    await client.dags.create({
      key: 'inner',
      steps: [
        { name: 'one', ...target('find'), payload: 1 },
        { name: 'two', ...target('sum'), dependsOn: ['one'] },
        { name: 'three', ...target('find'), dependsOn: ['one'], payload: 3 },
      ],
    })
    const { runId } = await client.dagRuns.start({
      payload: { day: 'monday' },
      steps: [
        { name: 'before', ...target('find'), payload: ['x'] },
        { name: 'part', target: { dag: 'inner' }, dependsOn: ['before'] },
        { name: 'own', target: { dag: 'inner' }, payload: { mine: true } },
        { name: 'sum', ...target('sum'), dependsOn: ['part', 'own'] },
      ],
    })
    const run = await client.dagRuns.wait(runId, { waitMs })
    expect(run.state).toBe('SUCCEEDED')
    const inner = { two: { one: 1 }, three: 3 }
    expect((await client.executions.get(stepOf(run, 'sum').executionId)).result).toEqual({ part: inner, own: inner })
    const part = await runOf(stepOf(run, 'part').run!.runId)
    expect(part).toMatchObject({
      ...{ name: 'inner', dagVersion: 1, fanOut: false, startedBy: stepOf(run, 'part').executionId },
      payload: { step: 'part', payload: { day: 'monday' }, results: { before: ['x'] } },
    })
    expect((await runOf(stepOf(run, 'own').run!.runId)).payload).toEqual({ mine: true })
  })

  it('is cancelled, paused and retried with the run it is a step of', async () => {
    await client.dags.create({
      key: 'held',
      steps: [
        { name: 'held', ...target('hold') },
        { name: 'behind', ...target('find'), dependsOn: ['held'], payload: 1 },
      ],
    })
    const { runId } = await client.dagRuns.start({ steps: [{ name: 'part', target: { dag: 'held' } }] })
    await until(() => running.has('held'))
    const part = stepOf(await runOf(runId), 'part')
    const { reasons } = await client.executions.explain(part.executionId)
    expect(reasons[0]).toMatchObject({ code: 'WAITS_FOR_RUN', message: expect.stringContaining('0 of 2 steps') })
    await client.dagRuns.pause(runId)
    expect((await runOf(part.run!.runId)).paused).toBe(true)
    await client.dagRuns.resume(runId)
    expect((await runOf(part.run!.runId)).paused).toBe(false)
    await expect(client.dagRuns.retry(part.run!.runId)).rejects.toMatchObject({ code: 'STATE_CONFLICT' })

    running.delete('held')
    await client.dagRuns.cancel(runId)
    expect(await client.dagRuns.wait(runId, { waitMs })).toMatchObject({ state: 'CANCELLED' })
    expect(await runOf(part.run!.runId)).toMatchObject({ state: 'CANCELLED', reason: 'CANCELLED' })

    await client.dagRuns.retry(runId)
    await until(() => running.has('held'))
    running.get('held')!.resolve('done')
    const again = await client.dagRuns.wait(runId, { waitMs })
    expect(again.state).toBe('SUCCEEDED')
    expect(stepOf(again, 'part').run).toMatchObject({ runId: part.run!.runId })
  })

  it('does not run the graph that it is in', async () => {
    await client.dags.create({ key: 'a', steps: [{ name: 'first', ...target('find'), payload: 1 }] })
    await client.dags.create({ key: 'b', steps: [{ name: 'of_a', target: { dag: 'a' } }] })
    await client.dags.create({ key: 'a', steps: [{ name: 'of_b', target: { dag: 'b' } }] })
    const { runId } = await client.dags.run('a')
    const run = await client.dagRuns.wait(runId, { waitMs })
    expect(run.state).toBe('FAILED')
    expect(stepOf(run, 'of_b').error?.message).toContain('the graph a would run inside a run of itself')
    await expect(client.dags.create({ steps: [{ name: 'x', target: { dag: 'nowhere' } }] })).rejects.toMatchObject({
      code: 'DAG_UNKNOWN',
      errors: [{ pointer: '/steps/0/target/dag' }],
    })
  })
})

describe('a job that runs a graph', () => {
  it('lasts as long as the run does, for its overlap too', async () => {
    await client.dags.create({ key: 'nightly', steps: [{ name: 'load_all', ...target('hold') }] })
    const job = await client.dags.schedule('nightly', {
      ...{ key: 'every night', cron: '0 3 * * *', overlap: 'FORBID', labels: { team: 'data' } },
      payload: { day: 'monday' },
    })
    expect(job.target).toEqual({ dag: 'nightly' })
    const first = await client.trigger('every night')
    await until(() => running.has('load_all'))
    await expect(client.trigger('every night')).rejects.toMatchObject({ code: 'OVERLAP_FORBIDDEN' })
    running.get('load_all')!.resolve('all')
    const [run] = (await client.dagRuns.list({ dagId: 'nightly' })).items
    expect(run).toMatchObject({ startedBy: first.executionId, labels: { team: 'data' } })
    await until(async () => (await client.executions.get(first.executionId)).state === 'SUCCEEDED')
    expect((await client.executions.get(first.executionId)).result).toEqual({ load_all: 'all' })
    expect((await runOf(run!.runId)).payload).toEqual({ day: 'monday' })
  })

  it('that failed is replayed from the failed step', async () => {
    await client.dags.create({
      key: 'two',
      steps: [
        { name: 'good', ...target('find'), payload: 1 },
        { name: 'bad', ...target('load'), payload: 'bad', dependsOn: ['good'] },
      ],
    })
    broken.add('bad')
    const { jobId: executionId } = await client.call('createJob', {
      body: { type: 'ONE_SHOT', target: { dag: 'two' } },
    })
    await until(async () => (await client.executions.get(executionId)).state === 'DEAD')
    const [run] = (await client.dagRuns.list({ dagId: 'two' })).items
    // Its execution is told first.
    await until(async () => (await runOf(run!.runId)).state === 'FAILED')
    broken.clear()
    await client.replay(executionId)
    await until(async () => (await client.executions.get(executionId)).state === 'SUCCEEDED')
    const again = await client.dagRuns.wait(run!.runId, { waitMs })
    expect(again.state).toBe('SUCCEEDED')
    expect(stepOf(again, 'good').attempt).toBe(1)
  })
})

it('says what is wrong with such a step', async () => {
  const step = { name: 'load', ...target('load') }
  const answer = await node.ask('POST /v1/dag-runs', {
    steps: [
      { ...step, forEach: 'results.find.files', payload: 1 },
      { ...step, name: 'b', concurrency: 3, maxFailures: 1 },
      { name: 'c', waitFor: 'SIGNAL', forEach: 'payload' },
      { ...step, name: 'd'.repeat(95), forEach: 'files' },
    ],
  })
  expect(answer.status).toBe(422)
  expect(answer.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
    ...['/steps/0/payload', '/steps/0/forEach', '/steps/1/concurrency', '/steps/1/maxFailures'],
    ...['/steps/2/forEach', '/steps/3/name', '/steps/3/forEach'],
  ])
})

describe('in the caller’s own transaction', () => {
  it('a run is started if and only if that commits', async () => {
    const database = await createDatabase()
    await using _ = { [Symbol.asyncDispose]: () => database.drop() }
    const carillon = await createCarillon({ databaseUrl: database.url, logLevel: 'error', ...quickTimes })
    carillon.handle(defineHandler<unknown>({ name: 'find' }), ({ dag }) => dag!.payload)
    await carillon.start()
    const pool = new pg.Pool({ connectionString: database.url, max: 1 })
    await carillon.dags.create({ key: 'monthly', steps: [{ name: 'find', ...target('find') }] })
    const tx = await pool.connect()
    await tx.query('begin')
    await carillon.enqueueRun('monthly', { payload: 'never', tx })
    await tx.query('rollback')
    await tx.query('begin')
    const handle = await carillon.enqueueRun('monthly', { payload: { month: 1 }, labels: { team: 'data' }, tx })
    await tx.query('commit')
    expect(await handle.result()).toEqual({ find: { month: 1 } })
    const sql = await tx.query<{ id: string }>(`select carillon.enqueue_run('monthly', '{"month": 2}') id`)
    const { id } = sql.rows[0]!
    await until(async () => (await carillon.executions.get(id).catch(() => null))?.state === 'SUCCEEDED')
    expect((await carillon.executions.get(id)).result).toEqual({ find: { month: 2 } })
    await expect(tx.query(`select carillon.enqueue_run('yearly')`)).rejects.toThrow('graph yearly does not exist')
    const { items } = await carillon.dagRuns.list({ dagId: 'monthly' })
    expect(items.map(({ labels }) => labels)).toEqual([{}, { team: 'data' }])
    tx.release()
    await pool.end()
    await carillon.stop({ drainSec: 1 })
  })
})
