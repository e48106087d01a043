/**
 * Two other libraries as witnesses, over generated expressions. cron-parser 5: everything but `W`; croner: `W` too.
 * Compared in UTC, and in zones on days without a change of the clock: at a change the three differ on purpose (ours
 * is the policy, held against a model in `cron-zones.test.ts`). Other differences, all left out of the generator:
 * `*` + `/1` in a day field, which for us restricts nothing and for both of them does; and for cron-parser a value
 * named twice in a list (refused), more than one `#`, and `L` inside a list.
 */
import { CronExpressionParser } from 'cron-parser'
import { Cron } from 'croner'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cron, instant } from './schedule.test-support.ts'
import { unbounded, upcoming } from './schedule.ts'
import { zoneNamed } from './zone.ts'

const number = (min: number, max: number) => fc.integer({ min, max }).map(String)

function field(min: number, max: number): fc.Arbitrary<string> {
  const range = fc
    .tuple(fc.integer({ min, max }), fc.integer({ min, max }))
    .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`)
  const step = fc.integer({ min: 2, max: max - min }).map(String)
  const element = fc.oneof(
    { weight: 4, arbitrary: number(min, max) },
    { weight: 2, arbitrary: range },
    { weight: 1, arbitrary: fc.tuple(range, step).map(([base, size]) => `${base}/${size}`) },
  )
  return fc.oneof(
    { weight: 4, arbitrary: fc.constant('*') },
    { weight: 2, arbitrary: step.map((size) => `*/${size}`) },
    { weight: 2, arbitrary: element },
    { weight: 2, arbitrary: fc.uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: 4 }).map(String) },
  )
}

const dayOfMonth = fc.oneof(field(1, 28), fc.constant('L'), fc.constant('?'))
const month = fc.oneof(field(1, 12), fc.constantFrom('JAN', 'feb-APR', 'Dec', '?'))
const dayOfWeek = fc.oneof(
  field(0, 6),
  fc.constantFrom('MON-FRI', 'sun', '7', '?', '5-7'),
  number(0, 6).map((day) => `${day}L`),
  fc.tuple(number(0, 6), number(1, 4)).map(([day, nth]) => `${day}#${nth}`),
)
const fiveFields = fc.tuple(field(0, 59), field(0, 23), dayOfMonth, month, dayOfWeek)
const expressions = fc.oneof(
  fiveFields.map((fields) => fields.join(' ')),
  fc.tuple(field(0, 59), fiveFields).map(([second, fields]) => `${second} ${fields.join(' ')}`),
)
const starts = fc.integer({ min: instant('2000-01-01T00:00Z'), max: instant('2090-01-01T00:00Z') })
const steps = 4

function byCronParser(expression: string, zone: string, after: number): number[] {
  const iterator = CronExpressionParser.parse(expression, { tz: zone, currentDate: new Date(after) })
  return Array.from({ length: steps }, () => iterator.next().getTime())
}

function byCroner(expression: string, zone: string, after: number): number[] {
  return new Cron(expression, { timezone: zone }).nextRuns(steps, new Date(after)).map((date) => date.getTime())
}

function ours(expression: string, zone: string, after: number): number[] {
  return upcoming(cron(expression, zone), unbounded, after, steps)
}

describe('the same fires as another library', () => {
  it('cron-parser, in UTC', () => {
    fc.assert(
      fc.property(expressions, starts, (expression, after) => {
        expect(ours(expression, 'UTC', after)).toEqual(byCronParser(expression, 'UTC', after))
      }),
      { numRuns: 3_000 },
    )
  })

  it('croner, in UTC, with W', () => {
    const withWeekdays = fc
      .tuple(
        field(0, 59),
        field(0, 23),
        fc.oneof(
          dayOfMonth,
          fc.constant('LW'),
          number(1, 28).map((day) => `${day}W`),
        ),
        month,
        dayOfWeek,
      )
      .map((fields) => fields.join(' '))
    fc.assert(
      fc.property(withWeekdays, starts, (expression, after) => {
        expect(ours(expression, 'UTC', after)).toEqual(byCroner(expression, 'UTC', after))
      }),
      { numRuns: 1_000 },
    )
  })

  it('cron-parser, in zones, while the clock does not change', () => {
    const zones = [
      'America/New_York',
      'Europe/Berlin',
      'Asia/Kolkata',
      'Australia/Lord_Howe',
      'Pacific/Apia',
      'America/St_Johns',
    ]
    let compared = 0
    fc.assert(
      fc.property(expressions, starts, fc.constantFrom(...zones), (expression, after, zone) => {
        const mine = ours(expression, zone, after)
        const segment = zoneNamed(zone).segmentAt(after)
        const dayMs = 86_400_000
        if (after < segment.start + dayMs || mine.at(-1)! > segment.end - dayMs) return
        compared++
        expect(mine).toEqual(byCronParser(expression, zone, after))
      }),
      { numRuns: 1_500 },
    )
    expect(compared).toBeGreaterThan(500)
  })
})
