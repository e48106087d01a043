import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BackfillInput, planBackfill, type Recorded, type SkippedRow } from './backfill.ts'

/** An occurrence at every whole number. */
const everyOne: Omit<BackfillInput, 'occurrences'> = {
  ...{ recorded: new Map(), before: null, includeSkipped: true, room: Number.POSITIVE_INFINITY, jitterMs: 0 },
  idOf: (nominal) => `#${nominal}`,
  countingOf: () => ({
    jitterMs: 0,
    next: (after) => after + 1,
    previous: (_, before) => before - 1,
    count: (first, before) => before - first,
  }),
}

const plan = (occurrences: number[], more: Partial<BackfillInput> = {}) =>
  planBackfill({ ...everyOne, occurrences, ...more })
const ran: Recorded = { skipped: null }
const skipped = (first: number, last = first): SkippedRow => ({
  ...{ id: `#${first}`, first, last, count: last - first + 1, version: 1 },
})
const filled = (made: ReturnType<typeof plan>) => made.fills.map(({ nominal, passed }) => [nominal, passed])

describe('what a backfill lets go', () => {
  it('is what has no record', () => {
    const made = plan([1, 2, 3, 4], { recorded: new Map([[2, ran]]) })
    expect(filled(made)).toEqual([
      [1, 0],
      [3, 1],
      [4, 0],
    ])
    expect(made).toMatchObject({ passed: 0, position: 4 })
    expect(plan([1, 2], { recorded: new Map([[2, ran]]) })).toMatchObject({ passed: 1, position: 2 })
  })

  it('stops where there is no room, before what it would have filled', () => {
    const made = plan([1, 2, 3], { room: 1, recorded: new Map([[2, ran]]) })
    expect(filled(made)).toEqual([[1, 0]])
    expect(made).toMatchObject({ passed: 1, position: 2 })
    expect(plan([1], { room: 0 })).toEqual({ fills: [], passed: 0, position: null })
  })

  it('leaves alone what was skipped, unless asked for', () => {
    const recorded = new Map<number, Recorded>([[2, { skipped: skipped(2, 4) }]])
    expect(filled(plan([1, 2, 3, 4, 5], { recorded, includeSkipped: false }))).toEqual([
      [1, 0],
      [5, 3],
    ])
    expect(filled(plan([3, 4, 5], { before: skipped(1, 4), includeSkipped: false }))).toEqual([[5, 2]])
  })

  it('cuts a row that stands for several', () => {
    const made = plan([3, 4, 5], { before: skipped(1, 4) })
    expect(made.fills.map(({ cover }) => cover)).toEqual([
      { id: '#1', last: 4, head: 2, prev: 2, tail: { id: '#4', nominal: 4, due: 4, count: 1 } },
      { id: '#4', last: 4, head: 0, prev: null, tail: null },
      null,
    ])
  })

  it('cuts by the schedule that the row was counted by: nothing of it is lost to another one', () => {
    const even = {
      jitterMs: 7,
      next: (after: number) => after + 2 - (after % 2),
      previous: (_: number, before: number) => before - 2 + (before % 2),
      count: (first: number, before: number) => Math.ceil(before / 2) - Math.ceil(first / 2),
    }
    const row = { ...skipped(2, 10), count: 5, version: 1 }
    const [fill] = plan([5], { before: row, countingOf: () => even }).fills
    expect(fill!.cover).toMatchObject({ head: 2, prev: 4, tail: { nominal: 6, due: 13, count: 3 } })
    const [own] = plan([6], { before: row, countingOf: () => even }).fills
    expect(own!.cover).toMatchObject({ head: 2, prev: 4, tail: { nominal: 8, due: 15, count: 2 } })
  })

  it('keeps every occurrence in exactly one row, whatever was there', () => {
    const kinds = fc.array(fc.constantFrom('none', 'ran', 'skipped'), { minLength: 1, maxLength: 30 })
    fc.assert(
      fc.property(kinds, fc.nat(30), fc.nat(30), fc.nat(10), (kinds, from, length, room) => {
        const ledger = rowsOf(kinds)
        const occurrences = kinds.map((_, i) => i).filter((i) => i >= from && i < from + length)
        const recorded = new Map<number, Recorded>(
          occurrences.flatMap((i) => {
            const row = ledger.find((r) => r.first === i)
            return row ? [[i, { skipped: row.skipped ? row : null }]] : []
          }),
        )
        const before = ledger.findLast((row) => row.skipped && row.first < (occurrences[0] ?? 0)) ?? null
        const made = plan(occurrences, { recorded, before, room })
        const after = applied(ledger, made)
        for (let i = 0; i < kinds.length; i++) {
          const rows = after.filter((row) => row.first <= i && i <= row.last)
          const isFilled = made.fills.some((fill) => fill.nominal === i)
          expect(rows.length, `occurrence ${i}`).toBe(kinds[i] === 'none' && !isFilled ? 0 : 1)
          if (rows[0]) expect(rows[0].skipped).toBe(kinds[i] === 'skipped' && !isFilled)
        }
        for (const row of after) expect(row.count).toBe(row.last - row.first + 1)
      }),
    )
  })
})

type Row = SkippedRow & { skipped: boolean }

/** Neighbours that were skipped are one row. */
function rowsOf(kinds: string[]): Row[] {
  const rows: Row[] = []
  kinds.forEach((kind, i) => {
    const last = rows.at(-1)
    if (kind === 'skipped' && last?.skipped && last.last === i - 1)
      Object.assign(last, { last: i, count: last.count + 1 })
    else if (kind !== 'none') rows.push({ ...skipped(i), skipped: kind === 'skipped' })
  })
  return rows
}

/** What the database makes of it. */
function applied(ledger: Row[], { fills }: ReturnType<typeof plan>): Row[] {
  let rows = ledger.map((row) => ({ ...row }))
  for (const { id, nominal, cover } of fills) {
    const old = rows.find((row) => row.id === cover?.id)
    if (old && cover) {
      if (old.id === id) rows = rows.filter((row) => row !== old)
      else Object.assign(old, { last: cover.prev, count: cover.head })
      const { tail } = cover
      if (tail) {
        const { id, nominal: first, count } = tail
        rows.push({ id, first, last: cover.last, count, version: 1, skipped: true })
      }
    }
    rows.push({ ...skipped(nominal), skipped: false })
  }
  return rows
}
