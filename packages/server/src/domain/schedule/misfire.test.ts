import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FirePlan, type FirePlanInput, firesPerPlan, missedWhilePaused, planFire } from './misfire.ts'
import { cron, everyPolicy, instant, interval } from './schedule.test-support.ts'
import { compileSchedule, unbounded, upcoming } from './schedule.ts'

const t0 = instant('2025-06-01T00:00Z')
const minute = 60_000

/** A job of every minute whose row stands at 00:00. */
function input(changes: Partial<FirePlanInput>): FirePlanInput {
  return {
    schedule: cron('* * * * *'),
    bounds: unbounded,
    nominal: t0,
    jitterMs: 0,
    now: t0,
    misfire: 'FIRE_ONCE',
    misfireAfterSec: 60,
    maxCatchUp: 1_000,
    graceSec: null,
    firesLeft: null,
    ...changes,
  }
}

const fired = (plan: FirePlan) => plan.fire.map(({ nominal }) => (nominal - t0) / minute)
const skipped = (plan: FirePlan) =>
  plan.skips.map(({ reason, first, last, count }) => [reason, (first - t0) / minute, (last - t0) / minute, count])
const next = (plan: FirePlan) => (plan.next === null ? null : (plan.next - t0) / minute)

describe('on time', () => {
  it('fires the occurrence it stands at and moves on', () => {
    const plan = planFire(input({}))
    expect(plan).toEqual({ fire: [{ nominal: t0, dueAt: t0 }], skips: [], next: t0 + minute })
  })

  it('fires nothing before its time', () => {
    expect(planFire(input({ now: t0 - 1 }))).toEqual({ fire: [], skips: [], next: t0 })
  })

  it('is due when its jitter has passed', () => {
    expect(fired(planFire(input({ jitterMs: 5_000, now: t0 + 4_999 })))).toEqual([])
    expect(planFire(input({ jitterMs: 5_000, now: t0 + 5_000 })).fire).toEqual([{ nominal: t0, dueAt: t0 + 5_000 }])
  })

  it('late is not misfired: exactly misfireAfterSec is still late', () => {
    const plan = planFire(input({ now: t0 + minute, misfire: 'SKIP' }))
    expect(fired(plan)).toEqual([0, 1])
    expect(plan.skips).toEqual([])
    expect(fired(planFire(input({ now: t0 + minute + 1, misfire: 'SKIP' })))).toEqual([1])
  })
})

describe('after ten minutes down', () => {
  const now = t0 + 10 * minute + 30_000

  it('FIRE_ONCE fires the latest missed one and those that are merely late', () => {
    const plan = planFire(input({ now }))
    expect(fired(plan)).toEqual([9, 10])
    expect(skipped(plan)).toEqual([['MISFIRED', 0, 8, 9]])
    expect(next(plan)).toBe(11)
  })

  it('FIRE_ALL fires all', () => {
    const plan = planFire(input({ now, misfire: 'FIRE_ALL' }))
    expect(fired(plan)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect(plan.skips).toEqual([])
  })

  it('FIRE_ALL with a limit fires the newest', () => {
    const plan = planFire(input({ now, misfire: 'FIRE_ALL', maxCatchUp: 3 }))
    expect(fired(plan)).toEqual([7, 8, 9, 10])
    expect(skipped(plan)).toEqual([['CATCH_UP_LIMIT', 0, 6, 7]])
    expect(fired(planFire(input({ now, misfire: 'FIRE_ALL', maxCatchUp: 0 })))).toEqual([10])
  })

  it('SKIP fires none of the missed', () => {
    const plan = planFire(input({ now, misfire: 'SKIP' }))
    expect(fired(plan)).toEqual([10])
    expect(skipped(plan)).toEqual([['MISFIRED', 0, 9, 10]])
  })

  it('grace comes first', () => {
    const plan = planFire(input({ now, misfire: 'FIRE_ALL', graceSec: 180 }))
    expect(fired(plan)).toEqual([8, 9, 10])
    expect(skipped(plan)).toEqual([['GRACE_EXCEEDED', 0, 7, 8]])
    const strict = planFire(input({ now, graceSec: 0 }))
    expect(fired(strict)).toEqual([])
    expect(skipped(strict)).toEqual([['GRACE_EXCEEDED', 0, 10, 11]])
    const once = planFire(input({ now, graceSec: 180 }))
    expect(fired(once)).toEqual([9, 10])
    expect(skipped(once)).toEqual([
      ['GRACE_EXCEEDED', 0, 7, 8],
      ['MISFIRED', 8, 8, 1],
    ])
  })

  it('a one-shot still fires, unless its policy or grace says no', () => {
    const schedule = compileSchedule({ type: 'ONE_SHOT', runAt: t0 })
    expect(planFire(input({ schedule, now }))).toEqual({ fire: [{ nominal: t0, dueAt: t0 }], skips: [], next: null })
    expect(skipped(planFire(input({ schedule, now, misfire: 'SKIP' })))).toEqual([['MISFIRED', 0, 0, 1]])
    expect(skipped(planFire(input({ schedule, now, graceSec: 60 })))).toEqual([['GRACE_EXCEEDED', 0, 0, 1]])
  })

  it('an end before now ends the schedule; what was missed until then counts', () => {
    const bounds = { startAt: null, endAt: t0 + 4 * minute }
    const plan = planFire(input({ now, bounds }))
    expect(fired(plan)).toEqual([4])
    expect(skipped(plan)).toEqual([['MISFIRED', 0, 3, 4]])
    expect(plan.next).toBeNull()
  })

  it('bounds that no longer allow the row move it', () => {
    expect(planFire(input({ now, bounds: { startAt: null, endAt: t0 - 1 } }))).toEqual({
      fire: [],
      skips: [],
      next: null,
    })
    const plan = planFire(input({ now, bounds: { startAt: t0 + 20 * minute, endAt: null } }))
    expect([fired(plan), skipped(plan), next(plan)]).toEqual([[], [], 20])
  })

  it('maxFires counts fires, not skips', () => {
    const all = planFire(input({ now, misfire: 'FIRE_ALL', firesLeft: 3 }))
    expect([fired(all), next(all)]).toEqual([[0, 1, 2], null])
    const once = planFire(input({ now, firesLeft: 1 }))
    expect([fired(once), next(once)]).toEqual([[9], null])
    const more = planFire(input({ now, firesLeft: 3 }))
    expect([fired(more), next(more)]).toEqual([[9, 10], 11])
    expect(planFire(input({ now, firesLeft: 0 }))).toEqual({ fire: [], skips: [], next: null })
  })
})

describe('after a year down', () => {
  const now = instant('2026-06-01T00:00Z')

  it.each([
    ['cron', cron('* * * * * *', 'Europe/Berlin')],
    ['interval', interval('PT1S', '2020-01-01T00:00Z')],
  ])('31 million missed seconds are one skip (%s)', (_, schedule) => {
    const plan = planFire(input({ schedule, now }))
    expect(plan.fire.length).toBe(62)
    expect(plan.skips).toEqual([{ reason: 'MISFIRED', first: t0, last: now - 62_000, count: 365 * 86_400 - 61 }])
    expect(plan.next).toBe(now + 1_000)
    const all = planFire(input({ schedule, now, misfire: 'FIRE_ALL', maxCatchUp: 50 }))
    expect(all.fire.length).toBe(111)
    expect(all.fire[0]!.nominal).toBe(now - 110_000)
  })

  it('a plan fires a bounded number and the following ones go on from there', () => {
    const schedule = cron('* * * * * *')
    const nominals: number[] = []
    let at: number | null = t0
    let plans = 0
    while (at !== null && at <= now) {
      const plan: FirePlan = planFire(input({ schedule, nominal: at, now, misfire: 'FIRE_ALL', maxCatchUp: 2_500 }))
      expect(plan.fire.length).toBeLessThanOrEqual(firesPerPlan)
      nominals.push(...plan.fire.map(({ nominal }) => nominal))
      at = plan.next
      plans++
    }
    expect(plans).toBe(3)
    expect(nominals.length).toBe(2_561)
    expect(nominals).toEqual(upcoming(schedule, unbounded, now - 2_561_000, 2_561))
  })
})

describe('every due occurrence is fired or skipped, once', () => {
  const schedules = fc.oneof(
    fc
      .tuple(
        fc.constantFrom('*/7 * * * *', '30 1,2 * * *', '0 */3 * * *', '*/20 1-3 * * 6,0', '0 0 L * *'),
        fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York'),
        fc.constantFrom(...everyPolicy),
      )
      .map(([expression, zone, policy]) => cron(expression, zone, policy)),
    fc.constantFrom('PT11M', 'P1D', 'PT5H30M').map((text) => interval(text, '2025-01-01T00:30Z', 'Europe/Berlin')),
  )
  const inputs: fc.Arbitrary<FirePlanInput> = fc
    .record({
      schedule: schedules,
      start: fc.integer({ min: instant('2025-03-01T00:00Z'), max: instant('2025-11-10T00:00Z') }),
      downMs: fc.oneof(fc.integer({ min: 0, max: 3_600_000 }), fc.integer({ min: 0, max: 20 * 86_400_000 })),
      jitterMs: fc.constantFrom(0, 0, 1_500, 200_000),
      misfire: fc.constantFrom('FIRE_ONCE' as const, 'FIRE_ALL' as const, 'SKIP' as const),
      misfireAfterSec: fc.constantFrom(0, 60, 7_200),
      maxCatchUp: fc.constantFrom(0, 1, 5, 1_000),
      graceSec: fc.constantFrom(null, null, 0, 30, 86_400),
      endsInMs: fc.constantFrom(null, null, 3_600_000, 86_400_000),
    })
    .map(({ start, downMs, endsInMs, schedule, ...rest }) => {
      const nominal = schedule.next(start)!
      const endAt = endsInMs === null ? null : nominal + endsInMs
      return { ...rest, schedule, bounds: { startAt: null, endAt }, nominal, now: nominal + downMs, firesLeft: null }
    })

  it('in one plan, by the rules of its age', () => {
    fc.assert(
      fc.property(inputs, (given) => {
        const { schedule, bounds, nominal, jitterMs, now } = given
        const lastDue = Math.min(now - jitterMs, bounds.endAt ?? Infinity)
        const due = upcoming(schedule, { startAt: null, endAt: lastDue }, nominal - 1, 10_000)
        const plan = planFire(given)
        const ages = new Map(due.map((at) => [at, now - at - jitterMs]))
        const handled: number[] = []
        for (const { first, last, count } of plan.skips) {
          const range = due.filter((at) => at >= first && at <= last)
          expect([range[0], range.at(-1), range.length]).toEqual([first, last, count])
          handled.push(...range)
        }
        for (const { nominal: at, dueAt } of plan.fire) {
          expect(dueAt).toBe(at + jitterMs)
          if (given.graceSec !== null) expect(ages.get(at)).toBeLessThanOrEqual(given.graceSec * 1_000)
          handled.push(at)
        }
        const cut = plan.next !== null && plan.next + jitterMs <= now
        if (cut) expect(plan.fire.length).toBe(firesPerPlan)
        expect(handled).toEqual(cut ? due.filter((at) => at < plan.next!) : due)
        if (!cut) expect(plan.next).toBe(upcoming(schedule, bounds, due.at(-1) ?? nominal - 1, 1)[0] ?? null)
        const misfired = plan.fire.filter(({ nominal: at }) => ages.get(at)! > given.misfireAfterSec * 1_000)
        const most = { SKIP: 0, FIRE_ONCE: 1, FIRE_ALL: given.maxCatchUp }[given.misfire]
        expect(misfired.length).toBeLessThanOrEqual(most)
      }),
      { numRuns: 1_000 },
    )
  })

  it('over several calls as time goes on, with maxFires', () => {
    fc.assert(
      fc.property(
        inputs,
        fc.array(fc.integer({ min: 0, max: 7_200_000 }), { maxLength: 6 }),
        fc.integer({ min: 1, max: 40 }),
        (given, waits, maxFires) => {
          let at: number | null = given.nominal
          let now = given.now
          let fires = 0
          let handled = 0
          let last = -Infinity
          for (const wait of [0, ...waits]) {
            now += wait
            if (at === null) break
            const plan: FirePlan = planFire({ ...given, nominal: at, now, firesLeft: maxFires - fires })
            for (const { nominal } of plan.fire) {
              expect(nominal).toBeGreaterThan(last)
              last = nominal
            }
            fires += plan.fire.length
            handled += plan.fire.length + plan.skips.reduce((sum, { count }) => sum + count, 0)
            if (plan.next !== null) {
              expect(handled).toBe(given.schedule.count(given.nominal - 1, plan.next - 1))
              expect(plan.next).toBeGreaterThan(last)
            }
            at = plan.next
          }
          expect(fires).toBeLessThanOrEqual(maxFires)
          if (fires === maxFires) expect(at).toBeNull()
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('a pause', () => {
  it('gathers what was due into one skip', () => {
    const schedule = cron('* * * * *')
    expect(missedWhilePaused(schedule, unbounded, t0, t0 + 5 * minute)).toEqual({
      missed: { reason: 'PAUSED', first: t0, last: t0 + 5 * minute, count: 6 },
      next: t0 + 6 * minute,
    })
    expect(missedWhilePaused(schedule, unbounded, t0, t0 + 5 * minute, 1_000).missed!.count).toBe(5)
    expect(missedWhilePaused(schedule, unbounded, t0, t0 - 1)).toEqual({ missed: null, next: t0 })
  })

  it('ends with the schedule', () => {
    const bounds = { startAt: null, endAt: t0 + minute }
    expect(missedWhilePaused(cron('* * * * *'), bounds, t0, t0 + 5 * minute)).toEqual({
      missed: { reason: 'PAUSED', first: t0, last: t0 + minute, count: 2 },
      next: null,
    })
  })
})
