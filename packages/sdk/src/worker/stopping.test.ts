import { CarillonError } from '@carillon/contract'
import { silentLogger } from '@carillon/contract/process'
import { describe, expect, test } from 'vitest'
import { PermanentError } from '../errors.ts'
import { aborted, handler, startRig, Tally } from './testing/rig.ts'
import { execution, ScriptedTransport } from './testing/scripted-transport.ts'
import { Worker } from './worker.ts'

describe('stop', () => {
  test('hands back what has not begun, lets the running end, reports, and leaves', async () => {
    const gate = Promise.withResolvers<void>()
    const begun = new Tally()
    const run = () => {
      begun.add('begun')
      return gate.promise
    }
    const rig = await startRig([handler(run, { concurrency: 1 })], { prefetch: 3 })
    const { transport, worker } = rig
    const running = execution()
    const waiting = [execution(), execution({ scheduledFor: 1e15 })]
    transport.offer(running, ...waiting)
    await begun.reached(1)
    const stopped = worker.stop({ drainSec: 60 })
    expect(worker.stop()).toBe(stopped)
    for (const given of waiting) {
      const expected = { outcome: 'HANDED_BACK', reason: 'NOT_STARTED', startedAt: null }
      expect(await transport.outcomeOf(given)).toMatchObject(expected)
    }
    const asked = transport.leases.length
    gate.resolve()
    await stopped
    expect(transport.outcomes.get(running.executionId)).toMatchObject({ outcome: 'SUCCEEDED' })
    expect(transport.deregistered).toEqual([worker.workerId])
    expect(transport.leases.length).toBe(asked)
    expect([begun.names.length, transport.listeners, transport.waitingLeases]).toEqual([1, 0, 0])
  })

  test('hands back one that came before its time, without beginning the one behind it', async () => {
    const begun: string[] = []
    const rig = await startRig([handler((ctx) => void begun.push(ctx.executionId), { concurrency: 1 })], {
      prefetch: 2,
    })
    const early = execution({ scheduledFor: 1e15 })
    const behind = execution()
    rig.transport.offer(early, behind)
    await rig.transport.until(() => rig.transport.leases.length === 1 && rig.transport.waitingLeases === 0)
    await new Promise(setImmediate)
    expect(rig.worker.stats().prefetched).toBe(2)
    await rig.worker.stop()
    expect([...rig.transport.outcomes.values()]).toMatchObject([{ reason: 'NOT_STARTED' }, { reason: 'NOT_STARTED' }])
    expect(begun).toEqual([])
  })

  test('aborts after the drain: a throw is handed back, so is a return that may be half-done', async () => {
    const begun = new Tally()
    const rig = await startRig(async (ctx) => {
      begun.add('begun')
      ctx.heartbeat(ctx.payload)
      if (ctx.payload === 'deaf') return new Promise((resolve) => setTimeout(resolve, 100))
      const reason = await aborted(ctx.signal)
      if (ctx.payload === 'throws') throw reason
      if (ctx.payload === 'never') throw new PermanentError('no point')
    })
    const given = ['throws', 'returns', 'never', 'deaf'].map((how) => execution({ payload: how }))
    rig.transport.offer(...given)
    await begun.reached(4)
    await rig.worker.stop({ drainSec: 0 })
    const handedBack = (progress: string) => ({ outcome: 'HANDED_BACK', reason: 'SHUTDOWN', progress: `"${progress}"` })
    expect(given.map(({ executionId }) => rig.transport.outcomes.get(executionId))).toMatchObject([
      handedBack('throws'),
      handedBack('returns'),
      { outcome: 'FAILED', permanent: true },
      { outcome: 'SUCCEEDED' },
    ])
  })

  test('hands back what does not stop within the grace', async () => {
    const gate = Promise.withResolvers<void>()
    const begun = new Tally()
    const rig = await startRig(() => {
      begun.add('begun')
      return gate.promise
    })
    const given = execution({ cancelGraceSec: 0.05 })
    rig.transport.offer(given)
    await begun.reached(1)
    await rig.worker.stop({ drainSec: 0 })
    expect(rig.transport.outcomes.get(given.executionId)).toMatchObject({ outcome: 'HANDED_BACK', reason: 'SHUTDOWN' })
    expect(rig.worker.stats().runaways).toBe(1)
    gate.resolve()
  })

  test('reports even if that fails a few times', async () => {
    const transport = new ScriptedTransport()
    const rig = await startRig(async () => {}, { transport })
    await transport.until(() => transport.waitingLeases === 1)
    transport.failReports = 2
    const given = execution()
    transport.offer(given)
    await transport.until(() => transport.reports.length === 1)
    await rig.worker.stop()
    expect(transport.outcomes.get(given.executionId)).toMatchObject({ outcome: 'SUCCEEDED' })
  })

  test('hands back what a lease brings in the last moment', async () => {
    const transport = new ScriptedTransport()
    const given = execution()
    const rig = await startRig(async () => {}, { transport })
    await transport.until(() => transport.waitingLeases === 1)
    const stopped = rig.worker.stop()
    transport.offer(given)
    await stopped
    expect(transport.outcomes.get(given.executionId)).toMatchObject({ outcome: 'HANDED_BACK', reason: 'NOT_STARTED' })
  })

  test('before or during start is fine', async () => {
    const transport = new ScriptedTransport()
    const make = () => new Worker({ transport, handlers: [handler(() => 1)], logger: silentLogger })
    await make().stop()
    transport.failRegisters = 1_000
    const worker = make()
    const started = worker.start()
    await worker.stop()
    await started
    expect(transport.leases).toEqual([])
    expect(transport.deregistered).toEqual([])
  })

  test('leaves no timers and no handles', async () => {
    const count = () =>
      process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout' || kind === 'Immediate').length
    const before = count()
    const rig = await startRig(async (ctx) => ctx.heartbeat(1), { reportEveryMs: 10 })
    const given = execution()
    rig.transport.offer(given)
    await rig.transport.outcomeOf(given)
    await rig.worker.stop()
    expect(count()).toBeLessThanOrEqual(before)
  })
})

test('a worker that the installation refuses does not start', async () => {
  const transport = new ScriptedTransport()
  transport.register = async () => {
    throw new CarillonError('VALIDATION', 'no such pool for this token')
  }
  const worker = new Worker({ transport, handlers: [handler(() => 1)], logger: silentLogger })
  await expect(worker.start()).rejects.toThrow(/no such pool/)
  await worker.stop()
})
