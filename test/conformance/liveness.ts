/** What every version of worker liveness must do. Workers are registered in PostgreSQL with all of them. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newId } from '../../packages/server/src/domain/identity.ts'
import type { WorkerLiveness } from '../../packages/server/src/liveness/port.ts'
import { registerWorker } from '../../packages/server/src/store/workers/register.ts'
import { openStore, type TestStore } from '../support/store.ts'
import { until } from '../support/until.ts'

export interface LivenessSubject {
  liveness: WorkerLiveness
  dispose(): Promise<void>
}

export interface LivenessTimes {
  /** How often each node notes that it can hear workers, and how often those attached to it are noted. */
  everyMs: number
  attachedEveryMs: number
  /** After this a worker is lost. A quarter of it, or 3 s, is a gap. */
  lostMs: number
  /** The time by which gaps are told. */
  now: () => Date
}

/** One node's liveness, not started. */
export type MakeLiveness = (store: TestStore, times: LivenessTimes) => Promise<LivenessSubject>

/** Long enough for a machine with other things to do, short enough to wait for. */
const shortMs = 1_500
const longMs = 60_000
const lostMs = 30_000

export function describeLiveness(name: string, make: MakeLiveness): void {
  describe(`worker liveness in ${name}`, () => {
    let store: TestStore
    let subjects: LivenessSubject[]
    let one: WorkerLiveness
    let other: WorkerLiveness
    let now: number

    beforeAll(async () => {
      store = await openStore({ shardCount: 1 })
    })
    afterAll(() => store[Symbol.asyncDispose]())
    beforeEach(async () => {
      now = Date.UTC(2026, 0, 1)
      await store.database.query(null, 'truncate carillon.worker_watch, carillon.workers')
      subjects = []
      one = await node()
      other = await node()
    })
    afterEach(async () => {
      for (const { dispose } of subjects) await dispose()
    })

    async function node(): Promise<WorkerLiveness> {
      const times = { everyMs: 1_000, attachedEveryMs: 200, lostMs, now: () => new Date(now) }
      const subject = await make(store, times)
      subjects.push(subject)
      return subject.liveness
    }

    async function register(): Promise<string> {
      const workerId = newId(Date.now())
      await registerWorker(store.database, { workerId, nodeId: newId(1), tenant: null, name: 'worker', pools: [] })
      return workerId
    }

    const isLive = async (workerId: string, at = one, withinMs = longMs) =>
      (await at.live([workerId], withinMs)).has(workerId)
    const isSilent = (workerId: string) => until(async () => !(await isLive(workerId, one, shortMs)))

    describe('a worker', () => {
      it('that was registered is live, at every node', async () => {
        const workerId = await register()
        expect([await isLive(workerId, one), await isLive(workerId, other)]).toEqual([true, true])
      })

      it('that is silent is not live for a short time, still is for a long one, and is live again when heard', async () => {
        const workerId = await register()
        await isSilent(workerId)
        expect(await isLive(workerId, other, longMs)).toBe(true)
        expect(await one.heard([workerId])).toEqual(new Set([workerId]))
        expect(await isLive(workerId, other, longMs)).toBe(true)
        expect(await isLive(workerId, other, shortMs)).toBe(true)
      })

      it('that nobody registered is not known, and not live', async () => {
        const [known, unknown] = [await register(), newId(Date.now())]
        expect(await one.heard([unknown, known])).toEqual(new Set([known]))
        expect(await one.live([unknown, known], longMs)).toEqual(new Set([known]))
        expect(await one.live([], longMs)).toEqual(new Set())
      })

      it('that is attached stays live although the event loop is blocked, until it is detached', async () => {
        const workerId = await register()
        await isSilent(workerId)
        one.attach(workerId)
        await until(() => isLive(workerId, other, shortMs))
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * shortMs)
        expect(await isLive(workerId, other, shortMs)).toBe(true)
        one.detach(workerId)
        await isSilent(workerId)
      })

      it('that is silent is forgotten if it holds nothing; one that lives or holds something stays', async () => {
        const [silent, holding] = [await register(), await register()]
        await store.submit(1)
        const [held] = await store.lease(1)
        await store.database.query(null, 'update carillon.leases set worker_id = $1 where lease_id = $2', [
          holding,
          Math.floor(held!.fence / 1024),
        ])
        await isSilent(holding)
        const live = await register()
        const forgotten = await one.forgetSilent(shortMs)
        expect(forgotten).toEqual([{ workerId: silent, name: 'worker' }])
        expect(await one.heard([silent, holding, live])).toEqual(new Set([holding, live]))
        expect(await isLive(silent)).toBe(false)
      })
    })

    /** These nodes ask every second for `seconds`; answers what the last of them was told. */
    async function pass(seconds: number, nodes: WorkerLiveness[]): Promise<number> {
      let listeningMs = 0
      for (let second = 0; second < seconds; second++) {
        now += 1_000
        for (const each of nodes) listeningMs = await each.listeningMs()
      }
      return listeningMs
    }

    describe('the time in which workers could be heard', () => {
      it('counts from the first time that a node has gone on hearing', async () => {
        expect(await one.listeningMs()).toBe(0)
        expect(await pass(30, [one])).toBe(30_000)
      })

      it('goes on while one node after the other is replaced, as long as one hears at any time', async () => {
        let [older, younger] = [one, other]
        await pass(5, [older, younger])
        for (let change = 0; change < 10; change++) {
          await pass(3, [younger])
          older = younger
          younger = await node()
          await pass(2, [older, younger])
        }
        expect(await (await node()).listeningMs()).toBe(54_000)
      })

      it('goes on over a restart of the only node that takes no longer than the gap', async () => {
        await pass(10, [one])
        now += 1_000
        expect(await pass(10, [await node()])).toBe(20_000)
      })

      it('begins anew after a gap in which all nodes were down', async () => {
        await pass(60, [one, other])
        now += 4_000
        const back = [await node(), await node()]
        for (const each of back) expect(await each.listeningMs()).toBe(0)
        expect(await pass(29, back)).toBe(29_000)
      })

      it('begins anew after a gap in which the nodes could not ask', async () => {
        await pass(60, [one, other])
        now += 4_000
        for (const each of [one, other]) expect(await each.listeningMs()).toBe(0)
        expect(await pass(29, [one, other])).toBe(29_000)
      })

      it('does not count a node that keeps crashing before it could hear anybody', async () => {
        await pass(60, [one])
        for (let start = 0; start < 20; start++) {
          now += 2_000
          await (await node()).listeningMs()
        }
        expect(await pass(2, [await node()])).toBeLessThan(3_000)
      })

      it.each([3_600_000, -3_600_000])(
        'begins anew when the clock of the installation jumps by %i ms',
        async (jumpMs) => {
          await pass(60, [one, other])
          now += jumpMs
          for (const each of [one, other]) expect(await each.listeningMs()).toBe(0)
          expect(await pass(10, [one, other])).toBe(10_000)
        },
      )
    })
  })
}
