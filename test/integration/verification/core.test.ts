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
    withItself: fc.constantFrom('ALLOW' as const, 'FORBID' as const),
    startAt: fc.constantFrom(undefined, undefined, startAt + 40 * minuteMs),
    endAt: fc.constantFrom(undefined, undefined, startAt + 9 * hourMs),
  })
  .map(({ schedule, gap, overlap, withItself, ...rest }) => {
    const given = Object.entries({ ...rest, overlap: withItself }).filter(([, value]) => value !== undefined)
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
          expect(whole).toMatchObject({ missed: 0, doubled: 0, wrong: 0, findings: [], outsideHistory: { jobs: 0 } })
          expect(history.verify(history.rows, { from, to }, limit)).toEqual(whole)
          const between = from + Math.floor((to - from) * cut)
          const pieces = [
            history.verify(history.rows, { from, to: between }),
            history.verify(history.rows, { from: between, to }),
          ]
          expect(pieces.map(({ missed, doubled, wrong }) => missed + doubled + wrong)).toEqual([0, 0])
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

  it('with a run that was made a skip is not, unless its job could have skipped it', () => {
    const reasons = ['PAUSED', 'EDITED', 'OVERLAP', 'EXPIRED', 'MISFIRED', 'GRACE_EXCEEDED', 'CATCH_UP_LIMIT', 'BORED']
    fc.assert(
      fc.property(lives, fc.nat(), fc.constantFrom(...reasons), (life, number, reason) => {
        const history = live(life)
        // On time: what was fired late could have been skipped for that.
        const fired =
          history?.rows.filter(({ state, firedAt, dueAt }) => state === null && firedAt - dueAt < 50_000) ?? []
        if (!history || fired.length === 0) return
        const row = fired[number % fired.length]!
        if (reason === 'OVERLAP' && history.definitionOf(row.version!).overlap === 'FORBID') return
        const changed = history.rows.map((each) => (each === row ? { ...row, state: 'SKIPPED', reason } : each))
        expect(history.verify(changed, all(history))).toMatchObject({ wrong: 1, findings: [{ why: 'SKIP_REASON' }] })
      }),
      { numRuns: 300 },
    )
  })

  it('with runs hidden behind a skip is not, whether or not the skip counts them', () => {
    fc.assert(
      fc.property(lives, fc.nat(), fc.integer({ min: 1, max: 5 }), fc.boolean(), (life, number, many, counts) => {
        const history = live(life)
        const sorted = history?.rows.toSorted((a, b) => a.nominal - b.nominal) ?? []
        const skips = sorted.filter(
          ({ state, last }, i) => state === 'SKIPPED' && last && sorted[i + 1]?.state === null,
        )
        if (!history || skips.length === 0) return
        const skip = skips[number % skips.length]!
        const hidden = sorted.slice(sorted.indexOf(skip) + 1).slice(0, many)
        const until = hidden.findIndex(({ state }) => state !== null)
        const taken = until < 0 ? hidden : hidden.slice(0, until)
        const last = taken.at(-1)!.nominal
        const count = skip.count! + (counts ? taken.length : 0)
        const changed = history.rows.filter((row) => !taken.includes(row)).filter((row) => row !== skip)
        const { missed, wrong } = history.verify([...changed, { ...skip, last, count }], all(history))
        const definition = history.definitionOf(skip.version!)
        // A leader's clock may have been ahead by seconds: what was nearly misfired could have been.
        const next = sorted[sorted.indexOf(taken.at(-1)!) + 1]?.nominal ?? Number.POSITIVE_INFINITY
        const edges = [definition.misfireAfterSec, definition.graceSec ?? 0].map((sec) => skip.firedAt - sec * 1_000)
        const near = [last, next].some((at) => edges.some((edge) => Math.abs(at - edge) < 20_000))
        if (!near) expect(missed + wrong).toBeGreaterThan(0)
      }),
      { numRuns: 300 },
    )
  })

  it('with a skip that counts wrong is not', () => {
    fc.assert(
      fc.property(lives, fc.nat(), fc.constantFrom(-1, 1, 5), (life, number, more) => {
        const history = live(life)
        const skips = history?.rows.filter(({ state, dueAt }) => state === 'SKIPPED' && dueAt < history.now) ?? []
        if (!history || skips.length === 0) return
        const skip = skips[number % skips.length]!
        const changed = history.rows.map((row) => (row === skip ? { ...row, count: (row.count ?? 1) + more } : row))
        expect(history.verify(changed, all(history))).toMatchObject({ wrong: 1, findings: [{ why: 'SKIP_COUNT' }] })
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
