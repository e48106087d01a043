import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineHandler } from '../../handler.ts'
import type { RegisteredHandler } from '../running/registered-handler.ts'
import { startRig } from '../testing/rig.ts'
import { execution } from '../testing/scripted-transport.ts'
import type { LeasedExecution, ReportedOutcome } from '../transport.ts'

const module = new URL('./testing/handlers.ts', import.meta.url)
const definition = defineHandler({ name: 'test' })

type Rig = Awaited<ReturnType<typeof startRig>>

function isolated(handler: Partial<RegisteredHandler>, options: { completeInModule?: string } = {}): Promise<Rig> {
  return startRig([{ definition, module, concurrency: 1, ...handler }], { reportEveryMs: 20, ...options })
}

async function run(rig: Rig, what: string, fields: Partial<LeasedExecution> = {}): Promise<ReportedOutcome> {
  const given = execution({ payload: what, ...fields })
  rig.transport.offer(given)
  return rig.transport.outcomeOf(given)
}

describe.each(['THREAD', 'PROCESS'] as const)('isolation %s', (isolation) => {
  test('gives the handler its context and returns its outcome', async () => {
    await using rig = await isolated({ isolation })
    const dueAt = Math.floor(rig.transport.serverNow())
    const dag = { runId: 'r1', step: 'load', payload: null, results: { extract: { rows: 3 } } }
    const facts = await run(rig, 'facts', {
      executionId: 'x1',
      attempt: 3,
      labels: { a: 'b' },
      lastProgress: [1],
      deadlineAt: dueAt + 50_000,
      dueAt,
      dag,
    })
    expect(facts).toMatchObject({ outcome: 'SUCCEEDED' })
    expect(JSON.parse((facts as { result: string }).result)).toEqual({
      payload: 'facts',
      executionId: 'x1',
      attempt: 3,
      fence: facts.fence,
      labels: { a: 'b' },
      lastProgress: [1],
      deadline: new Date(dueAt + 50_000).toJSON(),
      dag: { ...dag, itemIndex: null, states: { extract: 'SUCCEEDED' } },
      isServerTime: true,
    })
    const half = { outcome: 'FAILED', error: { message: 'half-way' }, progress: '{"page":3}', log: ['a line'] }
    expect(await run(rig, 'progress')).toMatchObject(half)
    expect(await run(rig, 'later')).toMatchObject({ outcome: 'FAILED', retryAfterMs: 700 })
    expect(await run(rig, 'never')).toMatchObject({ outcome: 'FAILED', permanent: true })
    expect(await run(rig, 'bad-result')).toMatchObject({ permanent: true, error: { name: 'RESULT_INVALID' } })
    expect(await run(rig, 'complete')).toMatchObject({
      error: { message: expect.stringContaining('completeInModule') },
    })
  })

  test('uses an idle one again', async () => {
    await using rig = await isolated({ isolation })
    const first = await run(rig, 'who')
    expect(first).toMatchObject({ outcome: 'SUCCEEDED', result: expect.stringContaining('/') })
    expect(await run(rig, 'who')).toMatchObject({ result: (first as { result: string }).result })
  })

  test('kills an endless loop at its timeout and goes on with a fresh one, heartbeating all the while', async () => {
    await using rig = await isolated({ isolation })
    const before = (await run(rig, 'who')) as { result: string }
    const beats = rig.transport.reports.length
    const ended = await run(rig, 'loop', { timeoutSec: 0.2, cancelGraceSec: 0.1 })
    expect(ended).toMatchObject({ outcome: 'TIMED_OUT' })
    expect(rig.transport.reports.length - beats).toBeGreaterThan(2)
    const after = (await run(rig, 'who')) as { result: string }
    expect(after.result).not.toBe(before.result)
    expect(rig.worker.stats().runaways).toBe(0)
  })

  test('brings an abort to the handler', async () => {
    await using rig = await isolated({ isolation })
    const given = execution({ payload: 'listen', cancelGraceSec: 60 })
    rig.transport.offer(given)
    await rig.transport.until(() => rig.transport.reports.some(({ progress }) => progress.length > 0))
    rig.transport.cancel({ executionId: given.executionId, fence: given.fence, reason: 'CANCELLED' })
    const expected = { outcome: 'CANCELLED', error: { name: 'AbortError' }, log: ['listening'] }
    expect(await rig.transport.outcomeOf(given)).toMatchObject(expected)
  })

  test('survives whatever happens in there', async () => {
    await using rig = await isolated({ isolation, memoryMb: 32 })
    const crashed = (message: RegExp) => ({
      outcome: 'FAILED',
      error: { name: 'HandlerCrashed', message: expect.stringMatching(message) },
    })
    expect(await run(rig, 'exit')).toMatchObject(crashed(/exit code 7/))
    expect(await run(rig, 'uncaught')).toMatchObject(crashed(/exit code 1/))
    expect(await run(rig, 'memory')).toMatchObject(
      crashed(isolation === 'THREAD' ? /MEMORY|memory/ : /signal SIG|exit code/),
    )
    expect(await run(rig, 'who')).toMatchObject({ outcome: 'SUCCEEDED' })
  })

  test('fails executions whose module cannot be used', async () => {
    await using none = await isolated({ isolation, module: new URL('./testing/no-handler.ts', import.meta.url) })
    expect(await run(none, 'x')).toMatchObject({ outcome: 'FAILED', error: { name: 'TypeError' } })
    await using missing = await isolated({ isolation, module: new URL('./testing/missing.ts', import.meta.url) })
    expect(await run(missing, 'x')).toMatchObject({
      outcome: 'FAILED',
      error: { message: expect.stringMatching(/missing/) },
    })
  })

  test('asks both schemas in the worker', async () => {
    const strict = defineHandler({ name: 'test', payload: z.string().min(3), result: z.number() })
    await using rig = await isolated({ isolation, definition: strict })
    expect(await run(rig, 'x')).toMatchObject({ error: { name: 'PayloadInvalid' }, permanent: true })
    expect(await run(rig, 'who')).toMatchObject({ error: { name: 'RESULT_INVALID' }, permanent: true })
    const odd = defineHandler({ name: 'test', payload: z.string().transform(() => () => 1) })
    await using unclonable = await isolated({ isolation, definition: odd })
    expect(await run(unclonable, 'x')).toMatchObject({ error: { name: 'PayloadInvalid' }, permanent: true })
    expect(await run(unclonable, 'x')).toMatchObject({ error: { name: 'PayloadInvalid' } })
  })

  test('completes in a transaction through the module given for it', async () => {
    const completeInModule = new URL('./testing/complete-in.ts', import.meta.url).href
    await using rig = await isolated({ isolation }, { completeInModule })
    expect(await run(rig, 'complete')).toMatchObject({ outcome: 'COMPLETED_IN_TRANSACTION' })
  })

  test('is killed when the worker stops and it does not', async () => {
    const rig = await isolated({ isolation })
    const given = execution({ payload: 'loop', cancelGraceSec: 0.1 })
    rig.transport.offer(given)
    await rig.transport.until(() => rig.transport.reports.some(({ held }) => held?.length === 1))
    await rig.worker.stop({ drainSec: 0 })
    expect(rig.transport.outcomes.get(given.executionId)).toMatchObject({ outcome: 'HANDED_BACK', reason: 'SHUTDOWN' })
    const left = process.getActiveResourcesInfo().filter((kind) => /Process|MessagePort|Worker/.test(kind))
    expect(left.length).toBeLessThanOrEqual(1)
  })
})

test.each(['say-and-loop', 'say-and-end'])('a process does not outlive a worker that is killed (%s)', async (what) => {
  const parent = spawn(
    process.execPath,
    [fileURLToPath(new URL('./testing/orphan-parent.ts', import.meta.url)), what],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  await once(parent.stdout, 'data')
  parent.kill('SIGKILL')
  // The handler's process has the same pipe for its output: it closes when the last of them is gone.
  parent.stdout.resume()
  await once(parent.stdout, 'close')
})
