import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ReadyPosition } from './ready-position.ts'

const start = 1_000_000

describe('the position in a lane', () => {
  it('begins at the very beginning', () => {
    expect(new ReadyPosition().from(start)).toBe(0)
  })

  it('stays a moment behind what was reached', () => {
    const position = reachedAt([
      [0, 10],
      [15, 20],
      [30, 30],
    ])
    expect(position.from(start + 32)).toBe(10)
    expect(position.from(start + 42)).toBe(20)
    expect(position.from(start + 57)).toBe(30)
  })

  it('looks back six seconds every two seconds', () => {
    const position = reachedAt(Array.from({ length: 80 }, (_, i) => [i * 100, i + 1] as const))
    expect(position.from(start + 8_000)).toBe(21)
    expect(position.from(start + 8_500)).toBe(80)
    expect(position.from(start + 9_999)).toBe(80)
    expect(position.from(start + 10_000)).toBe(41)
  })

  it('begins anew once a minute', () => {
    const position = reachedAt([[0, 10]])
    expect(position.from(start + 59_999)).toBe(10)
    expect(position.from(start + 60_000)).toBe(0)
    expect(position.from(start + 60_001)).toBe(10)
  })

  it('goes back to the tag of a hint', () => {
    const position = reachedAt([[0, 100]])
    position.lower(40)
    expect(position.from(start + 500)).toBe(40)
    position.lower(70)
    expect(position.from(start + 501)).toBe(40)
  })

  it('goes on where a look back had no room for more', () => {
    const position = reachedAt([[0, 100]])
    expect(position.from(start + 60_000)).toBe(0)
    position.reached(7, start + 60_010)
    expect(position.from(start + 60_020)).toBe(7)
  })

  it('does not pass a hinted row by a read that was under way when the hint came', () => {
    const position = reachedAt([[0, 100]])
    position.from(start + 200)
    position.lower(40)
    position.reached(110, start + 201)
    expect(position.from(start + 900)).toBeLessThanOrEqual(40)
  })
})

interface Row {
  tag: number
  appearedAt: number
  hinted: boolean
  /** Its tag was not reached yet three seconds before: that of a short transaction. */
  recent: boolean
}

type Step =
  | { what: 'read'; afterMs: number; limit: number; takesMs: number; during: { back: number; hinted: boolean }[] }
  | { what: 'write'; back: number; hinted: boolean }

const writes = fc.record({ back: fc.integer({ min: -20, max: 60 }), hinted: fc.boolean() })
const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    what: fc.constant('read' as const),
    afterMs: fc.integer({ min: 0, max: 990 }),
    limit: fc.integer({ min: 1, max: 6 }),
    takesMs: fc.integer({ min: 0, max: 200 }),
    during: fc.array(writes, { maxLength: 2 }),
  }),
  fc.record({ what: fc.constant('write' as const), back: fc.integer({ min: -20, max: 60 }), hinted: fc.boolean() }),
)

describe('no row stays unread', () => {
  it('whatever its tag, with a hint it is in reach of the next read, without one of a later one', () => {
    fc.assert(
      fc.property(fc.array(steps, { minLength: 20, maxLength: 400 }), (life) => {
        const lane = new SimulatedLane()
        for (const step of life) {
          if (step.what === 'write') lane.write(step.back, step.hinted)
          else lane.read(step)
        }
      }),
      { numRuns: 200 },
    )
  })
})

/** Writers and one reader of a lane, on virtual time. Reads come at least once in 1.2 s. */
class SimulatedLane {
  readonly #position = new ReadyPosition()
  readonly #reached: { at: number; tag: number }[] = [{ at: 0, tag: 0 }]
  #now = start
  #rows: Row[] = []

  write(back: number, hinted: boolean): void {
    const tag = Math.max(1, this.#reachedAt(this.#now) - back)
    const recent = tag >= this.#reachedAt(this.#now - 3_000)
    this.#rows.push({ tag, appearedAt: this.#now, hinted, recent })
    if (hinted) this.#position.lower(tag)
  }

  read({ afterMs, limit, takesMs, during }: Extract<Step, { what: 'read' }>): void {
    this.#now += afterMs
    const from = this.#position.from(this.#now)
    for (const row of this.#rows) if (from > row.tag) this.#mayBePassed(row)
    const inReach = this.#rows.filter(({ tag }) => tag >= from).sort((a, b) => a.tag - b.tag)
    const taken = new Set(inReach.slice(0, limit))
    this.#now += takesMs
    for (const { back, hinted } of during) this.write(back, hinted)
    this.#rows = this.#rows.filter((row) => !taken.has(row))
    if (taken.size === 0) return
    const highest = Math.max(...[...taken].map(({ tag }) => tag))
    this.#reached.push({ at: this.#now, tag: Math.max(highest, this.#reachedAt(this.#now)) })
    this.#position.reached(highest, this.#now)
  }

  #mayBePassed(row: Row): void {
    const age = this.#now - row.appearedAt
    expect(row.hinted, `hinted tag ${row.tag} was passed`).toBe(false)
    expect(age, `tag ${row.tag} was passed after a full scan`).toBeLessThan(60_000)
    if (row.recent) expect(age, `tag ${row.tag} was passed after a catch-up`).toBeLessThan(2_000)
  }

  #reachedAt(at: number): number {
    return this.#reached.findLast((mark) => mark.at <= at)?.tag ?? 0
  }
}

function reachedAt(tags: readonly (readonly [afterMs: number, tag: number])[]): ReadyPosition {
  const position = new ReadyPosition()
  position.from(start)
  for (const [afterMs, tag] of tags) position.reached(tag, start + afterMs)
  return position
}
