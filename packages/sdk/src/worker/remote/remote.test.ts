import { CarillonError } from '@carillon/contract'
import { silentLogger } from '@carillon/contract/process'
import { describe, expect, test, vi } from 'vitest'
import { problem } from '../../http/testing/scripted-server.ts'
import { aborted, handler, type Run, Tally } from '../testing/rig.ts'
import { execution, ScriptedTransport } from '../testing/scripted-transport.ts'
import type { Worker } from '../worker.ts'
import { createWorker, type RemoteWorkerOptions } from './create-worker.ts'
import { HttpTransport } from './http-transport.ts'
import { type ScriptedNode, scriptedNode } from './testing/scripted-node.ts'

interface RigOptions extends Partial<RemoteWorkerOptions> {
  concurrency?: number
}

function remote(nodes: ScriptedNode[], run: Run, { concurrency = 10, ...options }: RigOptions = {}): Worker {
  const handlers = [handler(run, { concurrency })]
  return createWorker({ urls: nodes.map(({ url }) => url), handlers, logger: silentLogger, prefetch: 0, ...options })
}

/** A worker on scripted nodes, started; stopped before they are. */
async function rigOf(nodes: ScriptedNode[], run: Run, options: RigOptions = {}) {
  const worker = remote(nodes, run, options)
  await worker.start()
  return { worker, [Symbol.asyncDispose]: () => worker.stop({ drainSec: 0 }) }
}

describe('a remote worker', () => {
  test('is announced, runs what it leases, reports values and signs off', async () => {
    await using node = await scriptedNode()
    const dag = { runId: 'r1', step: 'load.2', itemIndex: 2, payload: [1], results: { extract: { rows: 3 } } }
    const given = execution({ payload: { n: 1 }, lastProgress: [7], target: { url: 'x' }, dag })
    await using rig = await rigOf([node], ({ payload, lastProgress, target, dag, log, heartbeat }) => {
      log('a line')
      heartbeat({ page: 1 })
      return { payload, lastProgress, target, dag }
    })
    node.transport.offer(given)
    const ofStep = { ...dag, states: { extract: 'SUCCEEDED' } }
    const result = { payload: { n: 1 }, lastProgress: [7], target: { url: 'x' }, dag: ofStep }
    expect(await node.transport.outcomeOf(given)).toMatchObject({
      outcome: 'SUCCEEDED',
      result: JSON.stringify(result),
    })
    const [body] = node.bodies('report')
    expect(JSON.parse(body!)).toEqual({
      outcomes: [
        {
          ...{ executionId: given.executionId, fence: given.fence, outcome: 'SUCCEEDED', result, log: ['a line'] },
          ...{ startedAt: expect.any(Number), finishedAt: expect.any(Number) },
        },
      ],
    })
    await rig.worker.stop()
    expect(node.transport.deregistered).toEqual([rig.worker.workerId])
    await vi.waitFor(() => expect(node.server.connections).toBe(0))
  })

  test('reports every kind of outcome in the words of the contract', async () => {
    await using node = await scriptedNode()
    const { PermanentError, RetryLater } = await import('../../errors.ts')
    const given = ['fail', 'later', 'never'].map((payload) => execution({ payload }))
    await using _ = await rigOf([node], ({ payload, heartbeat }) => {
      heartbeat({ at: payload })
      if (payload === 'later') throw new RetryLater(Number.MAX_SAFE_INTEGER)
      throw payload === 'never' ? new PermanentError('no') : new Error('oh')
    })
    node.transport.offer(...given)
    const [fail, later, never] = await Promise.all(given.map((one) => node.transport.outcomeOf(one)))
    expect(fail).toMatchObject({
      outcome: 'FAILED',
      error: { name: 'Error', message: 'oh' },
      progress: '{"at":"fail"}',
    })
    expect(later).toMatchObject({ outcome: 'FAILED', retryAfterMs: 366 * 86_400_000 })
    expect(never).toMatchObject({ outcome: 'FAILED', permanent: true })
  })

  test.each([
    ['lost', { after: 'CUT' }],
    ['cut short', { after: 'CUT_SHORT' }],
    ['503', { before: problem(503, 'UNAVAILABLE') }],
    ['500', { after: problem(500, 'INTERNAL') }],
    ['no node’s', { before: { status: 502, text: '<h1>Bad gateway</h1>' } }],
  ] as const)('repeats a report whose answer is %s, and runs nothing twice', async (_, fault) => {
    await using node = await scriptedNode()
    node.fault('report', fault, fault)
    let runs = 0
    await using rig = await rigOf([node], () => ++runs)
    const given = execution()
    node.transport.offer(given)
    expect(await node.transport.outcomeOf(given)).toMatchObject({ outcome: 'SUCCEEDED', result: '1' })
    await rig.worker.onIdle()
    const bodies = node.bodies('report')
    expect(bodies.length).toBeGreaterThanOrEqual(3)
    expect(new Set(bodies.slice(0, 3)).size).toBe(1)
    expect(runs).toBe(1)
  })

  test('repeats what ended at another node, but no heartbeat: the worker makes a new one of what it holds by then', async () => {
    const [a, b] = [await scriptedNode(), await scriptedNode()]
    await using _ = a
    await using __ = b
    const transport = new HttpTransport({ urls: [a.url, b.url], logger: silentLogger })
    const workerId = '01936b00-0000-8000-8000-000000000001'
    await transport.register({ workerId, name: 'by hand', pools: [] })
    const told = () => a.bodies('report').length + b.bodies('report').length
    const report = { workerId, outcomes: [], began: [], progress: [] }
    for (const node of [a, b]) node.known.add(workerId)
    const preferred = a.bodies('register').length > 0 ? a : b
    preferred.fault('report', { after: 'CUT' })
    await transport.report({ ...report, held: null })
    expect(told()).toBe(2)
    for (const node of [a, b]) node.fault('report', { after: 'CUT' })
    await expect(transport.report({ ...report, held: [] })).rejects.toThrow('gave no answer')
    expect(told()).toBe(3)
    await transport.close()
  })

  test('leases again after answers that were none', async () => {
    await using node = await scriptedNode()
    node.fault(
      'lease',
      { before: 'CUT' },
      { before: problem(503, 'TOO_MANY_WAITING') },
      { before: problem(500, 'INTERNAL') },
    )
    await using _ = await rigOf([node], () => 'ran')
    const given = execution()
    node.transport.offer(given)
    expect(await node.transport.outcomeOf(given)).toMatchObject({ outcome: 'SUCCEEDED' })
  })

  test('announces itself again to a node that does not know it', async () => {
    await using node = await scriptedNode()
    const begun = new Tally()
    let end = () => {}
    await using rig = await rigOf([node], () => {
      begun.add('run')
      return new Promise<void>((resolve) => {
        end = resolve
      })
    })
    const given = execution()
    node.transport.offer(given)
    await begun.reached(1)
    await node.server.die()
    node.known.clear()
    await node.server.listen()
    end()
    expect(await node.transport.outcomeOf(given)).toMatchObject({ outcome: 'SUCCEEDED' })
    const next = execution()
    node.transport.offer(next)
    await begun.reached(2)
    end()
    expect(await node.transport.outcomeOf(next)).toMatchObject({ outcome: 'SUCCEEDED' })
    expect(node.known).toEqual(new Set([rig.worker.workerId]))
  })

  test('goes on at another node when its own is gone', async () => {
    const transport = new ScriptedTransport()
    await using a = await scriptedNode(transport)
    await using b = await scriptedNode(transport)
    await using _ = await rigOf([a, b], ({ executionId }) => executionId)
    await vi.waitFor(() => expect(transport.leases.length).toBeGreaterThan(0))
    const [own, other] = a.known.size > 0 ? [a, b] : [b, a]
    await own.server.die()
    await vi.waitFor(() => expect(other.known.size).toBe(1))
    await transport.until(() => transport.waitingLeases === 1)
    const given = execution()
    transport.offer(given)
    expect(await transport.outcomeOf(given)).toMatchObject({ outcome: 'SUCCEEDED' })
  })

  test('hears of cancellations while it waits and while every slot is taken', async () => {
    await using node = await scriptedNode()
    const begun = new Tally()
    const run: Run = async ({ signal }) => {
      begun.add('run')
      throw await aborted(signal)
    }
    await using rig = await rigOf([node], run, { concurrency: 2 })
    const [first, second] = [execution(), execution()]
    node.transport.offer(first)
    await begun.reached(1)
    await node.transport.until(() => node.transport.waitingLeases === 1)
    node.cancel({ executionId: first.executionId, fence: first.fence, reason: 'CANCELLED' })
    expect(await node.transport.outcomeOf(first)).toMatchObject({ outcome: 'CANCELLED' })
    node.transport.offer(execution(), second)
    await begun.reached(3)
    await node.transport.until(() => node.transport.leases.at(-1)!.slots === 0)
    node.cancel({ executionId: second.executionId, fence: second.fence, reason: 'CANCELLED' })
    expect(await node.transport.outcomeOf(second)).toMatchObject({ outcome: 'CANCELLED' })
    expect(rig.worker.health().lastLeaseAnswerMs).not.toBeNull()
  })

  test('does not start where it may not, and says why', async () => {
    await using node = await scriptedNode()
    node.tokens = new Set(['good'])
    const worker = remote([node], () => {}, { token: 'bad' })
    await expect(worker.start()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(worker.health()).toMatchObject({ healthy: false, reason: expect.stringContaining('refused') })
    await worker.stop()
  })

  test('waits for a node that is not there yet, or not ready', async () => {
    await using node = await scriptedNode()
    await node.server.die()
    const worker = remote([node], () => {})
    const started = worker.start()
    node.fault('register', { before: problem(503, 'UNAVAILABLE') }, { before: problem(429, 'RATE_LIMITED') })
    await node.server.listen()
    await started
    expect(node.known.size).toBe(1)
    await worker.stop()
  })

  test('goes on when its token is replaced', async () => {
    await using node = await scriptedNode()
    node.tokens = new Set(['old'])
    let token = 'old'
    await using _ = await rigOf([node], () => {}, { token: async () => token })
    await node.transport.until(() => node.transport.waitingLeases === 1)
    node.tokens = new Set(['new'])
    const given = execution()
    node.transport.offer(given)
    await vi.waitFor(() => expect(node.bodies('report').length).toBeGreaterThan(0))
    expect(node.transport.outcomes.size).toBe(0)
    token = 'new'
    expect(await node.transport.outcomeOf(given)).toMatchObject({ outcome: 'SUCCEEDED' })
  })

  test('without completeIn tells what to do', async () => {
    await using node = await scriptedNode()
    await using _ = await rigOf([node], (ctx) => ctx.completeIn({}))
    const given = execution()
    node.transport.offer(given)
    const message = expect.stringContaining('Pass `completeIn` of @carillon/server')
    expect(await node.transport.outcomeOf(given)).toMatchObject({ outcome: 'FAILED', error: { message } })
  })

  test('refuses options that cannot work', () => {
    expect(() => createWorker({ urls: 'nowhere', handlers: [] })).toThrow(CarillonError)
  })
})
