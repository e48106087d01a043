import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DueOccurrence, DueReturn } from '../due-source/port.ts'
import { Wheel, type WheelEntry } from './wheel.ts'

interface Given {
  key: string
  tenant: string
  due: number
  shard?: number
  version?: number
  nominal?: number
  tries?: number
}

function entry({ key, tenant, due, shard = 0, version = 1, nominal = due, tries = 0 }: Given): WheelEntry {
  const job = {} as DueOccurrence['job']
  const occurrence = { source: 'schedules', jobId: key, version, nominal, due, shard, tenant, fires: 0, job } as const
  return { key, at: due, tries, entry: { ...occurrence } }
}

function aRetry(key: string, due: number): WheelEntry {
  const retry: DueReturn = { source: 'retries', executionId: key, due, shard: 0, tenant: 't', pool: 'p', lane: 0 }
  return { key, at: due, tries: 0, entry: retry }
}

const keys = (entries: WheelEntry[]) => entries.map(({ key }) => key)

describe('the wheel', () => {
  it('gives nothing before its time, not even within its slot', () => {
    const wheel = new Wheel()
    wheel.put(entry({ key: 'a', tenant: 't', due: 1_005 }))
    expect(wheel.take(1_004.9, 10)).toEqual([])
    expect(keys(wheel.take(1_005, 10))).toEqual(['a'])
    expect(wheel.take(1_005, 10)).toEqual([])
    expect(wheel.size).toBe(0)
  })

  it('gives what is due first first, whatever the order in which it came', () => {
    const wheel = new Wheel()
    for (const due of [1_009, 1_001, 2_000, 1_005, 999]) wheel.put(entry({ key: `${due}`, tenant: 't', due }))
    expect(keys(wheel.take(3_000, 10))).toEqual(['999', '1001', '1005', '1009', '2000'])
  })

  it('replaces an entry that came again, later or earlier, also when it was due already', () => {
    const wheel = new Wheel()
    for (const key of ['a', 'b', 'c']) wheel.put(entry({ key, tenant: 't', due: 100 }))
    expect(wheel.take(100, 1)).toHaveLength(1)
    wheel.put(entry({ key: 'b', tenant: 't', due: 300 }))
    wheel.put(entry({ key: 'c', tenant: 't', due: 50, version: 2 }))
    const [taken, ...others] = wheel.take(200, 10)
    expect(taken && versionOf(taken)).toBe(2)
    expect(others).toEqual([])
    expect(keys(wheel.take(300, 10))).toEqual(['b'])
  })

  it('keeps the later occurrence of a job over an earlier one, and the newer version over the older', () => {
    const wheel = new Wheel()
    wheel.put(entry({ key: 'a', tenant: 't', due: 2_000 }))
    wheel.put(entry({ key: 'a', tenant: 't', due: 1_000 }))
    expect(wheel.take(1_500, 10)).toEqual([])
    wheel.put(entry({ key: 'a', tenant: 't', due: 1_200, version: 2 }))
    wheel.put(entry({ key: 'a', tenant: 't', due: 1_100, nominal: 9_000 }))
    expect(wheel.take(1_199, 10)).toEqual([])
    expect(keys(wheel.take(1_500, 10))).toEqual(['a'])
  })

  it('keeps an entry that is to be tried again, though it is read again meanwhile', () => {
    const wheel = new Wheel()
    wheel.put({ ...entry({ key: 'a', tenant: 't', due: 1_000, tries: 1 }), at: 1_025 })
    wheel.put(entry({ key: 'a', tenant: 't', due: 1_000 }))
    expect(wheel.take(1_024, 10)).toEqual([])
    expect(wheel.take(1_025, 10)).toMatchObject([{ tries: 1 }])
  })

  it('replaces a one-shot by the retry of its execution, which has the same id; never the other way', () => {
    const wheel = new Wheel()
    wheel.put(entry({ key: 'a', tenant: 't', due: 1_000 }))
    wheel.put(aRetry('a', 3_000))
    wheel.put(entry({ key: 'a', tenant: 't', due: 1_000 }))
    expect(wheel.take(2_000, 10)).toEqual([])
    wheel.put(aRetry('a', 2_500))
    expect(keys(wheel.take(2_500, 10))).toEqual(['a'])
    expect(wheel.size).toBe(0)
  })

  it('forgets the shards that are not led any more, also what was due already', () => {
    const wheel = new Wheel()
    for (const shard of [1, 2]) {
      for (const due of [100, 200]) wheel.put(entry({ key: `${shard}-${due}`, tenant: `t${shard}`, due, shard }))
    }
    wheel.take(100, 0)
    wheel.keepOnly(new Set([2]))
    expect(wheel.size).toBe(2)
    expect(keys(wheel.take(500, 10))).toEqual(['2-100', '2-200'])
  })

  it('knows when the next is due, and that there is none', () => {
    const wheel = new Wheel()
    expect(wheel.nextDue()).toBeNull()
    wheel.put(entry({ key: 'a', tenant: 't', due: 1_007, shard: 1 }))
    wheel.put(entry({ key: 'b', tenant: 't', due: 1_003, shard: 1 }))
    expect(wheel.nextDue()).toBe(1_003)
    wheel.put(entry({ key: 'b', tenant: 't', due: 5_000, shard: 1 }))
    expect(wheel.nextDue()).toBe(1_007)
    wheel.put(entry({ key: 'a', tenant: 't', due: 6_000, shard: 1 }))
    expect(wheel.nextDue()).toBe(5_000)
    wheel.keepOnly(new Set())
    expect(wheel.nextDue()).toBeNull()
  })

  it('takes turns over tenants', () => {
    const wheel = new Wheel()
    for (let i = 0; i < 1_000; i++) wheel.put(entry({ key: `a${i}`, tenant: 'a', due: 100 }))
    for (let i = 0; i < 3; i++) wheel.put(entry({ key: `b${i}`, tenant: 'b', due: 101 }))
    const first = wheel.take(200, 10)
    expect(first.filter(({ entry: { tenant } }) => tenant === 'b')).toHaveLength(3)
    expect(wheel.take(200, 10)).toHaveLength(10)
  })
})

type Step =
  | ({ what: 'put'; inMs: number } & Omit<Given, 'due'>)
  | { what: 'take'; afterMs: number; max: number }
  | { what: 'keepOnly'; shards: number[] }

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant('put' as const),
      key: fc.constantFrom(...'abcdefghijkl'),
      tenant: fc.constantFrom('x', 'y', 'z'),
      inMs: fc.integer({ min: -30, max: 60 }),
      shard: fc.integer({ min: 0, max: 3 }),
      version: fc.integer({ min: 1, max: 2 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('take' as const),
      afterMs: fc.integer({ min: 0, max: 25 }),
      max: fc.integer({ min: 0, max: 6 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('keepOnly' as const),
      shards: fc.uniqueArray(fc.integer({ min: 0, max: 3 }), { minLength: 2 }),
    }),
  },
)

describe('beside a plain list', () => {
  it('holds, gives and forgets the same', () => {
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 120 }), (life) => {
        const wheel = new Wheel()
        const list = new Map<string, WheelEntry>()
        let now = 1_000
        for (const step of life) {
          if (step.what === 'put') {
            const given = entry({ ...step, due: now + step.inMs })
            const known = list.get(step.key)
            const order = known ? versionOf(given) - versionOf(known) || given.at - known.at : 1
            if (order > 0) list.set(step.key, given)
            wheel.put(given)
          } else if (step.what === 'keepOnly') {
            for (const { key, entry: held } of list.values()) if (!step.shards.includes(held.shard)) list.delete(key)
            wheel.keepOnly(new Set(step.shards))
          } else {
            now += step.afterMs
            const due = [...list.values()].filter((e) => e.at <= now)
            const taken = wheel.take(now, step.max)
            expect(taken).toHaveLength(Math.min(step.max, due.length))
            for (const e of taken) {
              expect(list.get(e.key)).toBe(e)
              expect(e.at).toBeLessThanOrEqual(now)
              list.delete(e.key)
            }
          }
          expect(wheel.size).toBe(list.size)
          const earliest = Math.min(...[...list.values()].map((e) => e.at))
          const next = wheel.nextDue()
          if (list.size === 0) expect(next).toBeNull()
          else if (earliest > now) expect(next).toBe(earliest)
          else expect(next).toBeLessThanOrEqual(now)
        }
      }),
      { numRuns: 300 },
    )
  })
})

function versionOf({ entry }: WheelEntry): number {
  return entry.source === 'schedules' ? entry.version : 0
}
