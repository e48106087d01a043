/**
 * Cron at every change of the clock of every zone from 2020 to 2030, against the naive model and the properties that
 * must hold whatever a zone does. fast-check prints seed and path of a failure.
 */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cronModels, modelInstants, modelMatches, modelOccurrences } from './cron-model.test-support.ts'
import { cron, everyPolicy, instant } from './schedule.test-support.ts'
import { unbounded, upcoming } from './schedule.ts'
import { zoneNamed } from './zone.ts'

const hourMs = 3_600_000

interface Transition {
  zone: string
  at: number
  before: number
  after: number
}

function transitionsOf(zone: string, from: number, to: number): Transition[] {
  const found: Transition[] = []
  for (let { end, offset, after } = zoneNamed(zone).segmentAt(from); end < to; ) {
    found.push({ zone, at: end, before: offset, after })
    ;({ end, offset, after } = zoneNamed(zone).segmentAt(end))
  }
  return found
}

const everyZone = ['UTC', ...Intl.supportedValuesOf('timeZone')]
const transitions = everyZone.flatMap((zone) =>
  transitionsOf(zone, instant('2020-01-01T00:00Z'), instant('2031-01-01T00:00Z')),
)
/** Changes of earlier decades that are of an unusual kind. */
const unusual = [
  ...transitionsOf('Pacific/Apia', instant('2011-12-01T00:00Z'), instant('2012-01-15T00:00Z')),
  ...transitionsOf('Pacific/Kwajalein', instant('1993-08-01T00:00Z'), instant('1993-09-01T00:00Z')),
  ...transitionsOf('Antarctica/Vostok', instant('1994-01-01T00:00Z'), instant('1994-12-01T00:00Z')),
  ...transitionsOf('Africa/Monrovia', instant('1971-12-01T00:00Z'), instant('1972-02-01T00:00Z')),
  ...transitionsOf('America/Sao_Paulo', instant('2017-01-01T00:00Z'), instant('2019-06-01T00:00Z')),
  ...transitionsOf('America/Caracas', instant('2007-01-01T00:00Z'), instant('2017-01-01T00:00Z')),
  ...transitionsOf('Asia/Pyongyang', instant('2015-01-01T00:00Z'), instant('2019-01-01T00:00Z')),
  ...transitionsOf('America/Boa_Vista', instant('2000-01-01T00:00Z'), instant('2001-01-01T00:00Z')),
]
/** Zones that change together in the same way are one case for the (slow) model. */
const distinct = [
  ...new Map(transitions.map((change) => [`${change.at} ${change.before} ${change.after}`, change])).values(),
]

describe('at every change of the clock', () => {
  it('finds the changes', () => {
    expect(transitions.length).toBeGreaterThan(2_500)
    expect(unusual.length).toBeGreaterThan(15)
  })

  it('fires exactly when the naive model says', () => {
    const changes = fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...distinct) },
      { weight: 1, arbitrary: fc.constantFrom(...unusual) },
    )
    fc.assert(
      fc.property(changes, cronModels, fc.constantFrom(...everyPolicy), (change, model, policy) => {
        const window = { after: change.at - 5 * hourMs, until: change.at + 5 * hourMs }
        const expected = modelOccurrences(model, change.zone, policy, window)
        const schedule = cron(model.text, change.zone, policy)
        expect(upcoming(schedule, { startAt: null, endAt: window.until }, window.after, 10_000)).toEqual(expected)
        expect(schedule.count(window.after, window.until)).toBe(expected.length)
      }),
      { numRuns: 400 },
    )
  })

  it('strictly increases, and every fire reads as the expression or is the image of a time in a gap', () => {
    const expressions = fc.sample(cronModels, { numRuns: 60, seed: 20_250_330 })
    let next = 0
    for (const { zone, at, before, after } of transitions) {
      const model = expressions[next++ % expressions.length]!
      const policy = everyPolicy[next % everyPolicy.length]!
      const times = upcoming(
        cron(model.text, zone, policy),
        { startAt: null, endAt: at + 4 * hourMs },
        at - 4 * hourMs,
        40,
      )
      let previous = -Infinity
      for (const time of times) {
        const offset = time < at ? before : after
        const shifted = policy.gap === 'SHIFT' && !model.followsElapsedTime && time >= at && time < at + after - before
        const reads =
          modelMatches(model, wallClock(time + offset)) || (shifted && modelMatches(model, wallClock(time + before)))
        if (time <= previous || !reads) expect.fail(`${model.text} in ${zone} ${JSON.stringify(policy)}: ${time}`)
        previous = time
      }
    }
  })

  it('finds a date near a change from many changes before', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...distinct, ...unusual),
        fc.integer({ min: -30 * 60, max: 30 * 60 }),
        fc.constantFrom(...everyPolicy),
        (change, aroundMinutes, policy) => {
          const wall = wallClock(Math.floor((change.at + change.after) / 60_000 + aroundMinutes) * 60_000)
          if (wall.month === 2 && wall.day === 29) return
          const schedule = cron(`${wall.minute} ${wall.hour} ${wall.day} ${wall.month} *`, change.zone, policy)
          const expected = modelInstants(wall, change.zone, policy)
          if (expected.length === 0) return
          expect(upcoming(schedule, unbounded, change.at - 300 * 24 * hourMs, expected.length)).toEqual(expected)
        },
      ),
      { numRuns: 1_000 },
    )
  })

  it('answers the same from anywhere between two occurrences', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...transitions, ...unusual),
        cronModels,
        fc.constantFrom(...everyPolicy),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), { minLength: 1, maxLength: 5 }),
        (change, model, policy, places) => {
          const schedule = cron(model.text, change.zone, policy)
          const times = upcoming(schedule, unbounded, change.at - 3 * hourMs, 12)
          for (let i = 1; i < times.length; i++) {
            const [from, to] = [times[i - 1]!, times[i]!]
            for (const place of places) expect(schedule.next(from + Math.floor(place * (to - from)))).toBe(to)
            expect(schedule.next(to - 1)).toBe(to)
            expect(schedule.count(from, to - 1)).toBe(0)
          }
        },
      ),
      { numRuns: 1_500 },
    )
  })
})

describe('at the earliest times there are', () => {
  it('next comes to everything that count counts, in every zone', () => {
    const until = instant('1970-01-04T00:00Z')
    for (const zone of everyZone) {
      for (const expression of ['0 20 * * *', '30 1 * * *', '0 */5 * * *', '15 * 31 12 *', '0 0 1 1 *', '0 12 * * 3']) {
        const schedule = cron(expression, zone)
        const times = upcoming(schedule, { startAt: null, endAt: until }, -1, 1_000)
        if (times.length !== schedule.count(-1, until)) expect.fail(`${expression} in ${zone}: ${times}`)
      }
    }
    expect(cron('0 20 * * *', 'America/New_York').next(-1)).toBe(instant('1970-01-01T01:00Z'))
  })
})

function wallClock(wall: number): Temporal.PlainDateTime {
  return Temporal.Instant.fromEpochMilliseconds(wall).toZonedDateTimeISO('UTC').toPlainDateTime()
}
