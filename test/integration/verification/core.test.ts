/** Random schedules and random lives: what the rules produce is clean, and whatever is taken away or added is found. */
import { CarillonError, type JobInput } from '@carillon/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { occurrenceId, timeOf } from '../../../packages/server/src/domain/identity.ts'
import { PureHistory } from './pure-history.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
/** The clocks of Berlin are set back at 01:00Z. */
const startAt = Date.UTC(2030, 9, 26, 22, 17, 31, 123)

const schedules = fc.oneof(
  fc
    .constantFrom('* * * * *', '*/7 * * * *', '30 * * * *', '*/20 * * * * *', '15,45 2 * * *', '0 */2 * * *')
    .map((schedule) => ({
      type: 'CRON' as const,
      schedule,
    })),
  fc.constantFrom('PT1M', 'PT90S', 'PT47M', 'P1D').map((interval) => ({ type: 'INTERVAL' as const, interval })),
)

const inputs: fc.Arbitrary<JobInput> = fc
  .record({
    schedule: schedules,
    timezone: fc.constantFrom('UTC', 'Europe/Berlin', 'Australia/Lord_Howe'),
    gap: fc.constantFrom('SHIFT' as const, 'SKIP' as const),
    overlap: fc.constantFrom('FIRST' as const, 'SECOND' as const, 'BOTH' as const),
    jitterSec: fc.constantFrom(0, 0, 13),
    misfire: fc.constantFrom('FIRE_ONCE' as const, 'FIRE_ALL' as const, 'SKIP' as const),
    maxCatchUp: fc.constantFrom(1, 5, 1_000),
    graceSec: fc.constantFrom(undefined, undefined, 300),
    maxFires: fc.constantFrom(undefined, undefined, undefined, 4),
    startAt: fc.constantFrom(undefined, undefined, startAt + 40 * minuteMs),
    endAt: fc.constantFrom(undefined, undefined, startAt + 9 * hourMs),
  })
  .map(({ schedule, gap, overlap, ...rest }) => {
    const given = Object.entries(rest).filter(([, value]) => value !== undefined)
    return { ...schedule, ...Object.fromEntries(given), dst: { gap, overlap }, target: { handler: 'h' } } as JobInput
  })

const steps = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.integer({ min: 0, max: 2 * minuteMs }), fc.integer({ min: 0, max: 2 * hourMs })),
    what: fc.constantFrom('FIRE', 'FIRE', 'FIRE', 'OUTAGE', 'PAUSE', 'RESUME', 'EDIT', 'DELETE'),
    often: fc.boolean(),
    input: inputs,
  }),
  { minLength: 1, maxLength: 25 },
)

interface Life {
  input: JobInput
  steps: typeof steps extends fc.Arbitrary<infer T> ? T : never
}

/** Null: this schedule never fires. */
function live({ input, steps }: Life): PureHistory | null {
  const history = attempt(() => new PureHistory(input, startAt))
  if (!history) return null
  for (const { afterMs, what, often, input } of steps) {
    // Either the scheduler looks every half minute, or nobody does until the end of the step.
    for (let left = afterMs; often && what !== 'OUTAGE' && left > 30_000; left -= 30_000) {
      history.now += 30_000
      history.fire(5)
    }
    history.now += often && what !== 'OUTAGE' ? afterMs % 30_000 : afterMs
    if (what === 'FIRE') history.fire(3)
    if (what === 'PAUSE') history.pause()
    if (what === 'RESUME') history.resume()
    if (what === 'EDIT') attempt(() => history.edit(input))
    if (what === 'DELETE' && often) history.remove()
  }
  history.fire(4)
  history.now += 1
  return history
}

function attempt<T>(make: () => T): T | null {
  try {
    return make()
  } catch (error) {
    if (error instanceof CarillonError) return null
    throw error
  }
}

const lives: fc.Arbitrary<Life> = fc.record({ input: inputs, steps })
const all = (history: PureHistory) => ({ from: startAt, to: history.now })

describe('a life by the rules', () => {
  it('is clean, in pieces as in one go', () => {
    fc.assert(
      fc.property(
        lives,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer({ min: 1, max: 9 }),
        (life, cut, limit) => {
          const history = live(life)
          if (!history) return
          const { from, to } = all(history)
          const whole = history.verify(history.rows, { from, to })
          expect(whole).toMatchObject({ missed: 0, doubled: 0, findings: [], outsideHistory: { jobs: 0 } })
          expect(history.verify(history.rows, { from, to }, limit)).toEqual(whole)
          const between = from + Math.floor((to - from) * cut)
          const pieces = [
            history.verify(history.rows, { from, to: between }),
            history.verify(history.rows, { from: between, to }),
          ]
          expect(pieces.map(({ missed, doubled }) => missed + doubled)).toEqual([0, 0])
          expect(pieces[0]!.checked.occurrences + pieces[1]!.checked.occurrences).toBe(whole.checked.occurrences)
        },
      ),
      { numRuns: 200 },
    )
  })

  it('without any one of its rows is not: what the row stood for is missing, and nothing else', () => {
    fc.assert(
      fc.property(lives, fc.nat(), (life, number) => {
        const history = live(life)
        if (!history || history.rows.length === 0) return
        const gone = history.rows[number % history.rows.length]!
        const rest = history.rows.filter((row) => row !== gone)
        const { missed, doubled, findings } = history.verify(rest, all(history))
        expect(missed).toBeGreaterThan(0)
        expect(doubled).toBe(0)
        for (const { scheduledFor } of findings) {
          expect(scheduledFor).toBeGreaterThanOrEqual(gone.nominal)
          expect(scheduledFor).toBeLessThanOrEqual(gone.last ?? gone.nominal)
        }
        expect(findings[0]!.scheduledFor).toBe(gone.nominal)
      }),
      { numRuns: 200 },
    )
  })

  it('with one fire more than there should be is not', () => {
    fc.assert(
      fc.property(lives, fc.nat(), fc.integer({ min: 1, max: 999 }), (life, number, offMs) => {
        const history = live(life)
        const fired = history?.rows.filter(({ state }) => state === null) ?? []
        if (!history || fired.length < 2) return
        // Between two that fired, at a time that no schedule here knows.
        const row = fired[number % (fired.length - 1)]!
        const nominal = row.nominal + offMs
        const extra = { ...row, nominal, id: occurrenceId(history.jobId, nominal) }
        const { missed, doubled } = history.verify([...history.rows, extra], all(history))
        expect({ missed, doubled }).toEqual({ missed: 0, doubled: 1 })
      }),
      { numRuns: 200 },
    )
  })

  it('a row under another id accounts for nothing', () => {
    const history = live({
      input: { type: 'CRON', schedule: '* * * * *', misfire: 'FIRE_ALL', target: { handler: 'h' } },
      steps: [],
    })!
    history.now += 10 * minuteMs
    history.fire(100)
    const [first, ...rest] = history.rows
    const disguised = { ...first!, id: first!.id.replace(/.$/, (c) => (c === '0' ? '1' : '0')) }
    expect(timeOf(disguised.id)).toBe(first!.nominal)
    expect(history.verify([disguised, ...rest], all(history)).missed).toBe(1)
  })
})
