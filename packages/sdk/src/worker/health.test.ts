import { CarillonError } from '@carillon/contract'
import { silentLogger } from '@carillon/contract/process'
import { describe, expect, test } from 'vitest'
import { handler, startRig, Tally } from './testing/rig.ts'
import { execution, ScriptedTransport } from './testing/scripted-transport.ts'
import { Worker } from './worker.ts'

/** A clock that is set by hand. */
function handClock() {
  let offset = 0
  return { now: () => performance.now() + offset, pass: (ms: number) => (offset += ms) }
}

const silence = () => new Promise<never>(() => {})

describe('the health of a worker', () => {
  test('is not there before it is started, nor after it has stopped', async () => {
    const worker = new Worker({
      transport: new ScriptedTransport(),
      handlers: [handler(() => {})],
      logger: silentLogger,
    })
    const nothing = { healthy: false, lastLeaseAnswerMs: null, lastReportMs: null }
    expect(worker.health()).toEqual({ ...nothing, reason: 'it has not been started' })
    await worker.start()
    expect(worker.health()).toMatchObject({ healthy: true })
    await worker.stop()
    expect(worker.health()).toMatchObject({ healthy: false, reason: 'it has stopped' })
  })

  test('ends when nobody welcomes it for half a minute', async () => {
    const clock = handClock()
    const transport = new ScriptedTransport()
    transport.failRegisters = Number.POSITIVE_INFINITY
    const worker = new Worker({ transport, handlers: [handler(() => {})], logger: silentLogger, clock })
    const started = worker.start()
    clock.pass(29_000)
    expect(worker.health().healthy).toBe(true)
    clock.pass(2_000)
    expect(worker.health()).toMatchObject({ healthy: false, reason: expect.stringMatching(/could not register/) })
    await worker.stop()
    await started
  })

  test('ends when leases are not answered, though reports are', async () => {
    const clock = handClock()
    await using rig = await startRig(() => {}, { clock, leaseWaitMs: 10, reportEveryMs: 10 })
    await rig.transport.until(() => rig.transport.leases.length > 2)
    expect(rig.worker.health()).toMatchObject({ healthy: true, lastLeaseAnswerMs: expect.any(Number) })
    let asked = false
    rig.transport.lease = () => {
      asked = true
      return silence()
    }
    await rig.transport.until(() => asked)
    clock.pass(31_000)
    const answered = rig.transport.reports.length
    await rig.transport.until(() => rig.transport.reports.length > answered + 2)
    const health = rig.worker.health()
    expect(health).toMatchObject({ healthy: false, reason: expect.stringMatching(/no lease was answered for 3\d s/) })
    expect(health.lastLeaseAnswerMs).toBeGreaterThan(30_000)
    expect(health.lastReportMs).toBeLessThan(30_000)
  })

  test('ends when reports are not answered', async () => {
    const clock = handClock()
    await using rig = await startRig(() => {}, { clock, leaseWaitMs: 10, reportEveryMs: 10 })
    rig.transport.report = silence
    clock.pass(31_000)
    expect(rig.worker.health()).toMatchObject({
      healthy: false,
      reason: expect.stringMatching(/no report was answered/),
    })
  })

  test('stays while it is full or draining and asks for nothing', async () => {
    const clock = handClock()
    const begun = new Tally()
    let end = () => {}
    const run = () => {
      begun.add('run')
      return new Promise<void>((resolve) => {
        end = resolve
      })
    }
    await using rig = await startRig([handler(run, { concurrency: 1 })], { clock, reportEveryMs: 10 })
    rig.transport.offer(execution({ timeoutSec: 1_000 }))
    await begun.reached(1)
    const heard = async () => {
      clock.pass(61_000)
      const answered = rig.transport.reports.length
      await rig.transport.until(() => rig.transport.reports.length > answered + 2)
      return rig.worker.health()
    }
    expect(await heard()).toMatchObject({ healthy: true })
    const stopped = rig.worker.stop({ drainSec: 60 })
    expect(await heard()).toMatchObject({ healthy: true })
    end()
    await stopped
  })

  test('ends at once when it is refused', async () => {
    const transport = new ScriptedTransport()
    transport.register = async () => {
      throw new CarillonError('POOL_NOT_YOURS', 'somebody else’s')
    }
    const worker = new Worker({ transport, handlers: [handler(() => {})], logger: silentLogger })
    await expect(worker.start()).rejects.toThrow('somebody else’s')
    expect(worker.health()).toMatchObject({ healthy: false, reason: 'it was refused: somebody else’s' })
  })
})
