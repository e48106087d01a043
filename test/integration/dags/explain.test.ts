/** What explain says of steps, of executions that stand for a run, and of jobs that follow others: asked of a node while they wait. */
import { createClient, createWorker, defineHandler, implementHandler } from '@carillon/sdk'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { promptTimes } from '../../support/carillon.ts'
import { fitsContract } from '../../support/contract-check.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'

let node: HttpNode
let worker: ReturnType<typeof createWorker>
let client: ReturnType<typeof createClient>
let open = Promise.withResolvers<void>()

beforeAll(async () => {
  node = await httpNode({ engine: promptTimes })
  const hold = implementHandler(defineHandler<unknown>({ name: 'hold' }), () => open.promise, { concurrency: 10 })
  const fail = implementHandler(defineHandler<unknown>({ name: 'fail' }), () => Promise.reject(new Error('no')))
  worker = createWorker({ urls: [node.url], handlers: [hold, fail] })
  await worker.start()
  client = createClient({ urls: [node.url] })
})
afterAll(async () => {
  open.resolve()
  await client.close()
  await worker.stop({ drainSec: 1 })
  await node[Symbol.asyncDispose]()
})

const target = (handler: string) => ({ target: { handler }, retryPolicy: { maxAttempts: 1 } })
const stepsOf = async (runId: string) => (await client.dagRuns.get(runId))!.steps
const stepOf = async (runId: string, name: string) => (await stepsOf(runId)).find((step) => step.name === name)!

async function reasons(executionId: string) {
  const answer = await node.ask(`GET /v1/executions/${executionId}/explain`)
  fitsContract('explainExecution', answer)
  return answer.body.reasons as { code: string; message: string; hint?: string }[]
}

const codes = async (executionId: string) => (await reasons(executionId)).map(({ code }) => code)

function letGo(): void {
  open.resolve()
  open = Promise.withResolvers()
}

it('items of a list wait for a slot, and what is behind them for all of them', async () => {
  const { runId } = await client.dagRuns.start({
    payload: [1, 2, 3],
    steps: [
      { name: 'load', ...target('hold'), forEach: 'payload', concurrency: 2 },
      { name: 'merge', ...target('hold'), dependsOn: ['load'] },
    ],
  })
  await until(async () => (await stepOf(runId, 'load')).run !== null)
  const load = await stepOf(runId, 'load')
  const items = load.run!.runId
  await until(async () => (await stepsOf(items)).filter(({ state }) => state === 'RUNNING').length === 2)
  const third = await stepOf(items, 'load.2')
  expect(await reasons(third.executionId)).toEqual([
    {
      code: 'WAITS_FOR_SLOT',
      message: 'its step may have 2 items ready or running at once, and has 2',
      hint: expect.stringContaining('concurrency'),
    },
  ])
  const [waits] = await reasons(load.executionId)
  expect(waits).toMatchObject({
    code: 'WAITS_FOR_RUN',
    message: `it waits for its items, the run ${items}: 0 of 3 have ended, 0 failed`,
  })
  expect((await reasons((await stepOf(runId, 'merge')).executionId))[0]).toMatchObject({
    code: 'WAITS_FOR_STEPS',
    message: 'it waits for load: 0 of the 1 steps it depends on have ended',
  })

  await client.dagRuns.pause(runId)
  expect(await codes(load.executionId)).toEqual(['WAITS_FOR_RUN', 'RUN_PAUSED'])
  letGo()
  await until(async () => (await codes(third.executionId))[0] === 'RUN_PAUSED')
  expect((await reasons(third.executionId))[0]!.hint).toBe(`resume it with POST /v1/dag-runs/${runId}/resume`)
  await client.dagRuns.resume(runId)
  await until(async () => (await stepOf(items, 'load.2')).state === 'RUNNING')
  letGo()
  await until(async () => (await stepOf(runId, 'merge')).state === 'RUNNING')
  letGo()
})

it('a step waits for a signal, and says until when and how to send it', async () => {
  const { runId } = await client.dagRuns.start({ steps: [{ name: 'approve', waitFor: 'SIGNAL', timeoutSec: 3_600 }] })
  await until(async () => (await stepOf(runId, 'approve')).state === 'RUNNING')
  const { executionId } = await stepOf(runId, 'approve')
  const [{ code, message, hint }] = (await reasons(executionId)) as [Awaited<ReturnType<typeof reasons>>[number]]
  expect(code).toBe('WAITS_FOR_SIGNAL')
  const [since, end] = message.match(/\d{4}-[\dT:.-]+Z/g)!.map((time) => Date.parse(time))
  expect(end! - since!).toBe(3_600_000)
  expect(hint).toContain(`carillon dag-runs signal ${runId} approve`)
  await client.dagRuns.cancel(runId)
})

it('the execution of a scheduled graph waits for its run; a failed item is retried with the outermost run', async () => {
  await client.dags.create({ key: 'nightly', steps: [{ name: 'part', ...target('hold') }] })
  await client.dags.schedule('nightly', { key: 'nightly at three', cron: '0 3 1 1 *' })
  const { executionId } = (await node.ask('POST /v1/jobs/nightly%20at%20three/trigger')).body
  await until(async () => (await codes(executionId))[0] === 'WAITS_FOR_RUN')
  expect((await reasons(executionId))[0]!.message).toContain('0 of 1 steps have ended')
  letGo()

  const failing = [{ name: 'each', ...target('fail'), forEach: 'payload' }]
  const { runId } = await client.dagRuns.start({ payload: [1], steps: failing })
  expect(await client.dagRuns.wait(runId, { waitMs: 60_000 })).toMatchObject({ state: 'FAILED' })
  const item = await stepOf((await stepOf(runId, 'each')).run!.runId, 'each.0')
  expect((await reasons(item.executionId))[0]).toMatchObject({
    code: 'DEAD',
    hint: expect.stringContaining(`POST /v1/dag-runs/${runId}/retry`),
  })
})

it('a job of type AFTER says what it follows and when that last ended', async () => {
  const post = async (path: string, body: object = {}) => (await node.ask(`POST /v1/jobs${path}`, body)).body
  await post('', { key: 'load', type: 'CRON', schedule: '0 3 1 1 *', ...target('fail') })
  const { jobId } = await post('', { key: 'report', type: 'AFTER', after: { job: 'load' }, ...target('hold') })
  expect((await reasons(jobId))[0]!.message).toContain('has SUCCEEDED; none has ended yet')
  const { executionId } = await post('/load/trigger')
  await until(async () => (await reasons(jobId))[0]!.message.includes(`${executionId}, ended at`))
  expect((await reasons(jobId))[0]).toMatchObject({
    code: 'FOLLOWS',
    message: expect.stringMatching(/as DEAD$/),
    hint: expect.stringContaining('after.on is SUCCEEDED'),
  })
  await post('/report/pause')
  await node.ask('DELETE /v1/jobs/load')
  expect((await client.executions.explain(jobId)).reasons.map(({ code }) => code)).toEqual([
    'JOB_PAUSED',
    'FOLLOWED_GONE',
  ])
})
