/**
 * A seeded sample of what `npm run calendar` goes through in full: every hour step, at every change of the clock of every
 * zone from 1970 to 2037, under every policy.
 */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ChangeModel, changesOf, everyZone, hourSteps, windowOf } from './hour-steps.test-support.ts'
import { cron, everyPolicy, instant, localText } from './schedule.test-support.ts'
import { upcoming } from './schedule.ts'

const from = instant('1970-01-01T00:00Z')
const to = instant('2038-01-01T00:00Z')

describe('hour steps where the clock is changed', () => {
  it('fire as the model says, in a sample of all changes, steps and policies', () => {
    const zones = fc.constantFrom(...everyZone)
    const steps = fc.uniqueArray(fc.constantFrom(...hourSteps), { minLength: 12, maxLength: 12 })
    let compared = 0
    fc.assert(
      fc.property(zones, fc.nat(), steps, (zone, which, sample) => {
        const changes = changesOf(zone, from, to)
        if (changes.length === 0) return
        const change = changes[which % changes.length]!
        const { after, until } = windowOf(change)
        const model = new ChangeModel(change)
        for (const step of [hourSteps[0]!, ...sample]) {
          for (const policy of everyPolicy) {
            const schedule = cron(step.expression, zone, policy)
            const expected = model.occurrences(step, policy)
            expect(upcoming(schedule, { startAt: null, endAt: until }, after, 1_000)).toEqual(expected)
            expect(schedule.count(after, until)).toBe(expected.length)
            compared++
          }
        }
      }),
      { numRuns: 60, seed: 20_270_314 },
    )
    expect(compared).toBeGreaterThan(2_000)
  })

  it.each([
    ['midnight in Havana', '0 */12 * * *', 'America/Havana', '2027-03-13T18:00Z', '2027-03-14T01:00-04:00'],
    ['02:30 in New York', '30 2/6 * * *', 'America/New_York', '2026-03-08T06:00Z', '2026-03-08T03:30-04:00'],
  ])('%s, which the clock jumps over, is moved', (_, expression, zone, after, expected) => {
    expect(localText(cron(expression, zone).next(instant(after))!, zone)).toBe(expected)
  })

  it('01:30 in New York, which comes twice, fires once under FIRST', () => {
    const zone = 'America/New_York'
    const times = upcoming(cron('30 1/12 * * *', zone), { startAt: null, endAt: null }, instant('2026-11-01T00:00Z'), 2)
    expect(times.map((at) => localText(at, zone))).toEqual(['2026-11-01T01:30-04:00', '2026-11-01T13:30-05:00'])
  })
})
