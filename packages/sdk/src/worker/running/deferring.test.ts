import { describe, expect, test } from 'vitest'
import { Deferred } from '../../errors.ts'
import { aborted, handler, startRig } from '../testing/rig.ts'
import { execution } from '../testing/scripted-transport.ts'

describe('a handler that throws Deferred', () => {
  test('is reported DEFERRED with its log, and its slot is free again', async () => {
    const run = (ctx: { log(line: string): void }) => {
      ctx.log('sent on')
      throw new Deferred()
    }
    await using rig = await startRig([handler(run, { concurrency: 1 })])
    const [one, two] = [execution(), execution()]
    rig.transport.offer(one, two)
    for (const given of [one, two]) {
      const outcome = await rig.transport.outcomeOf(given)
      expect(outcome).toMatchObject({ outcome: 'DEFERRED', fence: given.fence, log: ['sent on'] })
      expect(outcome).not.toHaveProperty('error')
    }
    await rig.worker.onIdle()
  })

  test('is understood from a second copy of this package', async () => {
    const foreign = Object.assign(new Error(), { [Symbol.for('carillon.deferred')]: true })
    await using rig = await startRig([
      handler(() => {
        throw foreign
      }),
    ])
    const given = execution()
    rig.transport.offer(given)
    expect(await rig.transport.outcomeOf(given)).toMatchObject({ outcome: 'DEFERRED' })
  })

  test('after its timeout is too late', async () => {
    await using rig = await startRig([
      handler(async (ctx) => {
        await aborted(ctx.signal)
        throw new Deferred()
      }),
    ])
    const given = execution({ timeoutSec: 0.05 })
    rig.transport.offer(given)
    expect(await rig.transport.outcomeOf(given)).toMatchObject({ outcome: 'TIMED_OUT' })
  })

  test('while the worker stops counts all the same: an external system has the work', async () => {
    const rig = await startRig([
      handler(async (ctx) => {
        await aborted(ctx.signal)
        throw new Deferred()
      }),
    ])
    const given = execution()
    rig.transport.offer(given)
    await rig.transport.until(() => rig.worker.stats().running === 1)
    await rig.worker.stop({ drainSec: 0 })
    expect(rig.transport.outcomes.get(given.executionId)).toMatchObject({ outcome: 'DEFERRED' })
  })
})
