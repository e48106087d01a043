/** Runs of graphs over HTTP, with real workers: started, watched, cancelled, paused, retried; by tokens, with keys. */
import { createClient, createWorker, defineHandler, implementHandler } from '@carillon/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fitsContract } from '../../support/contract-check.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'

type Told = { step: string; results: unknown; states: unknown; payload: unknown }
const told: Told[] = []
const broken = new Set<string>()
const gate = Promise.withResolvers<void>()

let node: HttpNode
let worker: ReturnType<typeof createWorker>
let client: ReturnType<typeof createClient>
beforeAll(async () => {
  node = await httpNode()
  const echo = implementHandler(defineHandler<unknown>({ name: 'echo' }), async ({ dag, payload }) => {
    told.push({ step: dag!.step, results: dag!.results, states: dag!.states, payload: dag!.payload })
    if (broken.has(dag!.step)) throw new Error(`${dag!.step} is broken`)
    return payload ?? `of ${dag!.step}`
  })
  const waiting = implementHandler(defineHandler<null>({ name: 'waiting' }), async ({ signal }) => {
    await Promise.race([
      gate.promise,
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    ])
  })
  worker = createWorker({ urls: [node.url], handlers: [echo, waiting] })
  await worker.start()
  client = createClient({ urls: [node.url] })
})
afterAll(async () => {
  gate.resolve()
  await client.close()
  await worker.stop({ drainSec: 1 })
  await node[Symbol.asyncDispose]()
})

const once = { maxAttempts: 1 }
const step = (name: string, dependsOn: string[] = [], more: object = {}) => ({
  ...{ name, dependsOn, target: { handler: 'echo' }, retryPolicy: once, ...more },
})
const stateOf = (run: { steps: { name: string; state: string }[] }) =>
  Object.fromEntries(run.steps.map((s) => [s.name, s.state]))

describe('a run', () => {
  it('of a stored graph: steps in order, results and payloads to the letter', async () => {
    const key = 'etl'
    const created = await node.ask('POST /v1/dags', {
      ...{ key, labels: { team: 'data' } },
      steps: [step('load', ['extract', 'check']), step('extract'), step('check', ['extract'])],
    })
    expect(created.status).toBe(201)
    const body = '{"payload": {"n": 9007199254740993, "f": 1.50}, "labels": {"why": "test"}}'
    const started = await node.ask(`POST /v1/dags/${key}/runs`, body, { 'idempotency-key': 'one' })
    expect(started.status).toBe(201)
    fitsContract('runDag', started)
    expect(started.body).toMatchObject({
      state: 'RUNNING',
      stepCount: 3,
      dagVersion: 1,
      labels: { team: 'data', why: 'test' },
    })
    const again = await node.ask(`POST /v1/dags/${key}/runs`, body, { 'idempotency-key': 'one' })
    expect([again.status, again.body]).toEqual([200, started.body])

    const run = await client.dagRuns.wait(started.body.runId, { waitMs: 20_000 })
    expect(run).toMatchObject({ state: 'SUCCEEDED', doneCount: 3, failedCount: 0, reason: null })
    expect(run.steps.map(({ name, attempt }) => [name, attempt])).toEqual([
      ['extract', 1],
      ['check', 1],
      ['load', 1],
    ])
    const load = told.find((each) => each.step === 'load')!
    expect(load.results).toEqual({ extract: 'of extract', check: 'of check' })
    expect(load.states).toEqual({ extract: 'SUCCEEDED', check: 'SUCCEEDED' })
    const raw = await (await fetch(`${node.url}/v1/dag-runs/${run.runId}`)).text()
    expect(raw).toContain('{"n":9007199254740993,"f":1.50}')
    const { executionId } = run.steps[2]!
    const execution = await node.ask(`GET /v1/executions/${executionId}`)
    fitsContract('getExecution', execution)
    expect(execution.body).toMatchObject({
      origin: 'DAG',
      dagRunId: run.runId,
      jobId: run.runId,
      name: 'load',
      labels: { team: 'data' },
    })
    expect(execution.body.timeline.map(({ to }: { to: string }) => to)).toEqual([
      'BLOCKED',
      'PENDING',
      'RUNNING',
      'SUCCEEDED',
    ])
    const listed = await node.ask(`GET /v1/dag-runs?dagId=${key}&state=SUCCEEDED&label=why:test`)
    fitsContract('listDagRuns', listed)
    expect(listed.body.items.map(({ runId }: { runId: string }) => runId)).toEqual([run.runId])
    const steps = await node.ask(`GET /v1/executions?jobId=${run.runId}&origin=DAG`)
    expect(steps.body.items).toHaveLength(3)
  })

  it('that fails is retried from where it failed', async () => {
    broken.add('second')
    const { runId } = await client.dagRuns.start({
      steps: [step('first'), step('second', ['first']), step('third', ['second'])],
    })
    const failed = await client.dagRuns.wait(runId, { waitMs: 20_000 })
    expect(failed).toMatchObject({ state: 'FAILED', reason: 'STEP_FAILED', failedCount: 1 })
    expect(stateOf(failed)).toEqual({ first: 'SUCCEEDED', second: 'DEAD', third: 'SKIPPED' })
    expect(failed.steps[1]!.error).toMatchObject({ message: 'second is broken' })
    expect(failed.steps[2]!.reason).toBe('DEPENDENCY_FAILED')
    const refused = await node.ask(`POST /v1/executions/${failed.steps[1]!.executionId}/retry`)
    expect([refused.status, refused.body.code]).toEqual([409, 'STATE_CONFLICT'])
    expect(refused.body.errors[0].hint).toContain('/v1/dag-runs/')
    broken.delete('second')
    const before = told.filter((each) => each.step === 'first').length
    await client.dagRuns.retry(runId)
    const run = await client.dagRuns.wait(runId, { waitMs: 20_000 })
    expect(stateOf(run)).toEqual({ first: 'SUCCEEDED', second: 'SUCCEEDED', third: 'SUCCEEDED' })
    expect(run).toMatchObject({ state: 'SUCCEEDED', reason: null, failedCount: 0 })
    expect(told.filter((each) => each.step === 'first')).toHaveLength(before)
    const { body } = await node.ask(`GET /v1/verify?from=${new Date(Date.now() - 3_600_000).toISOString()}`)
    expect(body.findings).toEqual([])
  })

  it('asks the results what runs', async () => {
    const steps = [
      step('count', [], { payload: { n: 3 } }),
      step('many', ['count'], { when: 'results.count.n > 2' }),
      step('few', ['count'], { when: 'results.count.n <= 2' }),
      step('wrong', ['count'], { when: 'results.count.m > 2', allowFailure: true }),
      step('last', ['many', 'few', 'wrong'], { runIf: 'ALL_DONE', when: 'states.few == "SKIPPED"' }),
    ]
    const { runId } = await client.dagRuns.start({ steps })
    const run = await client.dagRuns.wait(runId, { waitMs: 20_000 })
    expect(run.steps.map(({ name, state, reason }) => [name, state, reason])).toEqual([
      ['count', 'SUCCEEDED', null],
      ['many', 'SUCCEEDED', null],
      ['few', 'SKIPPED', 'CONDITION_FALSE'],
      ['wrong', 'SKIPPED', 'CONDITION_FAILED'],
      ['last', 'SUCCEEDED', null],
    ])
    expect(run.steps[3]!.error!.message).toBe('results.count.m > 2: No such key: m')
    expect(run.state).toBe('SUCCEEDED')
    const bad = {
      steps: [step('a'), step('b', ['a'], { when: 'results.c > 1' }), step('c', ['b'], { when: 'results.b >' })],
    }
    const refused = await node.ask('POST /v1/dag-runs', bad)
    expect([refused.status, refused.body.errors.map(({ pointer }: { pointer: string }) => pointer)]).toEqual([
      422,
      ['/steps/1/when', '/steps/2/when'],
    ])
  })

  it('waits for an approval, which counts once and says who; one that does not come in time is a failure', async () => {
    const approve = { name: 'approve', dependsOn: ['build'], waitFor: 'SIGNAL' as const }
    const deploy = step('deploy', ['approve'], { when: 'results.approve.approved' })
    const { runId } = await client.dagRuns.start({ steps: [step('build'), approve, deploy] })
    const early = await node.ask(`POST /v1/dag-runs/${runId}/steps/deploy/signal`, {})
    expect([early.status, early.body.code]).toEqual([409, 'STATE_CONFLICT'])
    expect((await node.ask(`POST /v1/dag-runs/${runId}/steps/nowhere/signal`, {})).status).toBe(409)
    await until(async () => stateOf((await client.dagRuns.get(runId))!).approve === 'RUNNING')
    const waiting = (await client.dagRuns.get(runId))!.steps[1]!
    expect(waiting).toMatchObject({ waitFor: 'SIGNAL', handler: 'carillon.signal' })
    const explained = await node.ask(`GET /v1/executions/${waiting.executionId}/explain`)
    expect(explained.body.summary).toContain('it waits for a signal since')
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        node.ask(
          `POST /v1/dag-runs/${runId}/steps/approve/signal`,
          `{"payload": {"approved": true, "n": ${n}, "id": 9007199254740993}}`,
        ),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(409)])
    const run = await client.dagRuns.wait(runId, { waitMs: 20_000 })
    expect(stateOf(run)).toEqual({ build: 'SUCCEEDED', approve: 'SUCCEEDED', deploy: 'SUCCEEDED' })
    const taken = answers.findIndex(({ status }) => status === 200)
    const raw = await (await fetch(`${node.url}/v1/executions/${waiting.executionId}`)).text()
    expect(raw).toContain(`"result":{"approved":true,"n":${taken},"id":9007199254740993}`)
    const trail = (await node.ask(`GET /v1/audit?subject=${runId}`)).body.items
    expect(trail).toMatchObject([{ action: 'dag_run.signalled', actor: 'anonymous', detail: { step: 'approve' } }])

    const late = await client.dagRuns.start({
      steps: [{ name: 'approve', waitFor: 'SIGNAL', timeoutSec: 0.2 }, step('next', ['approve'])],
    })
    const ended = await client.dagRuns.wait(late.runId, { waitMs: 20_000 })
    expect(ended).toMatchObject({ state: 'FAILED', reason: 'STEP_FAILED' })
    expect(stateOf(ended)).toEqual({ approve: 'DEAD', next: 'SKIPPED' })
    await expect(client.dagRuns.signal(late.runId, 'approve')).rejects.toThrow('waits no more: it is DEAD')

    const cancelled = await client.dagRuns.start({ steps: [{ name: 'approve', waitFor: 'SIGNAL' }] })
    await until(async () => stateOf((await client.dagRuns.get(cancelled.runId))!).approve === 'RUNNING')
    await client.dagRuns.cancel(cancelled.runId)
    expect(await client.dagRuns.wait(cancelled.runId, { waitMs: 20_000 })).toMatchObject({ state: 'CANCELLED' })
    const wrong = { steps: [{ name: 'a' }, { ...step('b'), waitFor: 'SIGNAL' }] }
    const refused = await node.ask('POST /v1/dag-runs', wrong)
    expect(refused.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      ...['/steps/0/target', '/steps/1/waitFor', '/steps/1/retryPolicy'],
    ])
    const { body } = await node.ask(`GET /v1/verify?from=${new Date(Date.now() - 3_600_000).toISOString()}`)
    expect(body.findings).toEqual([])
  })

  it('says what a step waits for; is paused, resumed and cancelled, and its handler aborted', async () => {
    const steps = [step('a', [], { target: { handler: 'waiting' } }), step('b', ['a']), step('c', ['a', 'b'])]
    const { runId } = await client.dagRuns.start({ steps, name: 'slow' })
    await until(async () => stateOf((await client.dagRuns.get(runId))!).a === 'RUNNING')
    const { steps: now } = (await client.dagRuns.get(runId))!
    expect(now.map(({ name, state, waitsFor }) => [name, state, waitsFor])).toEqual([
      ['a', 'RUNNING', 0],
      ['b', 'BLOCKED', 1],
      ['c', 'BLOCKED', 2],
    ])
    const { body } = await node.ask(`GET /v1/executions/${now[2]!.executionId}/explain`)
    expect(body.summary).toContain('it waits for a, b: 0 of the 2 steps it depends on have ended')
    const blocked = await node.ask('GET /v1/executions?state=BLOCKED')
    expect(blocked.body.items.map(({ name }: { name: string }) => name).sort()).toEqual(['b', 'c'])
    expect(await client.dagRuns.pause(runId)).toMatchObject({ state: 'RUNNING', paused: true })
    expect(await client.dagRuns.resume(runId)).toMatchObject({ state: 'RUNNING', paused: false })
    expect(await client.dagRuns.cancel(runId)).toMatchObject({ state: 'RUNNING', reason: 'CANCELLING' })
    const run = await client.dagRuns.wait(runId, { waitMs: 20_000 })
    expect(run).toMatchObject({ state: 'CANCELLED', reason: 'CANCELLED' })
    expect(stateOf(run)).toEqual({ a: 'CANCELLED', b: 'CANCELLED', c: 'CANCELLED' })
    for (const what of ['cancel', 'pause', 'resume']) {
      const late = await node.ask(`POST /v1/dag-runs/${runId}/${what}`)
      expect([late.status, late.body.code], what).toEqual([409, 'STATE_CONFLICT'])
    }
    const trail = await node.ask(`GET /v1/audit?subject=${runId}`)
    const actions = trail.body.items.map(({ action }: { action: string }) => action)
    expect(actions.toReversed()).toEqual(['dag_run.paused', 'dag_run.resumed', 'dag_run.cancelled'])
  })

  it('keeps the steps it was created with, also when its graph is changed or deleted', async () => {
    const key = 'changing'
    const { dagId } = await client.dags.create({
      key,
      steps: [step('a', [], { target: { handler: 'waiting' } }), step('b', ['a'])],
    })
    const { runId } = await client.dags.run(key)
    await client.dags.create({ key, steps: [step('x')] })
    const later = await client.dags.run(key)
    expect(await client.dagRuns.wait(later.runId, { waitMs: 20_000 })).toMatchObject({
      state: 'SUCCEEDED',
      dagVersion: 2,
    })
    await client.dags.delete(dagId)
    await expect(client.dags.run(key)).rejects.toMatchObject({ code: 'DAG_NOT_FOUND' })
    gate.resolve()
    const run = await client.dagRuns.wait(runId, { waitMs: 20_000 })
    expect(stateOf(run)).toEqual({ a: 'SUCCEEDED', b: 'SUCCEEDED' })
    expect(run).toMatchObject({ state: 'SUCCEEDED', dagVersion: 1 })
  })

  it('is told of as events, in order', async () => {
    const events = new AbortController()
    const seen: string[] = []
    const stream = client.events({ types: ['dag_run.*', 'execution.succeeded'], signal: events.signal })
    const reading = (async () => {
      for await (const event of stream) seen.push(`${event.type} ${'jobId' in event ? event.jobId : ''}`)
    })().catch(() => {})
    await until(async () => {
      if (seen.length > 0) return true
      const { runId } = await client.dagRuns.start({ steps: [step('first'), step('second', ['first'])] })
      await client.dagRuns.wait(runId, { waitMs: 20_000 })
      return seen.length > 0
    })
    const { runId } = await client.dagRuns.start({ steps: [step('first'), step('second', ['first'])] })
    await until(() => seen.includes(`dag_run.succeeded ${runId}`))
    const own = seen.filter((each) => each.endsWith(runId)).map((each) => each.split(' ')[0])
    expect(own).toEqual(['dag_run.started', 'execution.succeeded', 'execution.succeeded', 'dag_run.succeeded'])
    events.abort()
    await reading
  })

  it('of a thousand steps ends, each step once', { timeout: 120_000 }, async () => {
    const layers = 100
    const width = 10
    const name = (layer: number, at: number) => `s${layer}_${at}`
    const steps = Array.from({ length: layers }, (_, layer) =>
      Array.from({ length: width }, (_, at) =>
        step(
          name(layer, at),
          layer === 0 ? [] : Array.from({ length: width }, (_, before) => name(layer - 1, before)),
          {
            payload: 1,
          },
        ),
      ),
    ).flat()
    const { runId } = await client.dagRuns.start({ steps })
    const run = await client.dagRuns.wait(runId, { waitMs: 100_000 })
    expect(run).toMatchObject({ state: 'SUCCEEDED', stepCount: 1_000, doneCount: 1_000 })
    expect(run.steps.every(({ attempt }) => attempt === 1)).toBe(true)
  })
})

it('another tenant sees none of it', async () => {
  const auth = { jwtSecret: 'a secret of thirty-two characters, at least' }
  await using other = await httpNode({ auth })
  const { createApiKey } = await import('../../../packages/server/src/administration/api-keys.ts')
  const keyOf = async (tenant: string) =>
    (await createApiKey(other.databaseUrl, { name: tenant, tenant, scopes: ['jobs:read', 'jobs:write'] })).key
  const [acme, zeta] = [await keyOf('acme'), await keyOf('zeta')]
  const as = (key: string) => ({ authorization: `Bearer ${key}` })
  const { body: run } = await other.ask('POST /v1/dag-runs', { steps: [step('a')] }, as(acme))
  expect((await other.ask(`GET /v1/dag-runs/${run.runId}`, undefined, as(acme))).status).toBe(200)
  for (const what of ['GET', 'POST cancel', 'POST pause', 'POST resume', 'POST retry']) {
    const [method, action] = what.split(' ')
    const path = `${method} /v1/dag-runs/${run.runId}${action ? `/${action}` : ''}`
    const answer = await other.ask(path, undefined, as(zeta))
    expect([answer.status, answer.body.code], what).toEqual([404, 'DAG_RUN_NOT_FOUND'])
  }
  expect((await other.ask('GET /v1/dag-runs', undefined, as(zeta))).body.items).toEqual([])
})
