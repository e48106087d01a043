import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bisect } from './bisect.ts'

class Own extends Error {}
const isOwn = (error: unknown) => error instanceof Own

function worker(isBad: (item: number) => boolean) {
  let calls = 0
  const work = async (items: number[]) => {
    calls++
    if (items.some(isBad)) throw new Own()
    return items.length
  }
  return { work, calls: () => calls }
}

describe('bisect', () => {
  it('finds exactly what fails and does all the rest, each once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 60 }), async (bad) => {
        const items = bad.map((_, i) => i)
        const { work } = worker((item) => bad[item]!)
        const found = await bisect(items, { work, isOwn })
        expect(found.bad.map(({ item }) => item)).toEqual(items.filter((item) => bad[item]))
        expect(found.done.flatMap((part) => part.items)).toEqual(items.filter((item) => !bad[item]))
        expect(found).toMatchObject({ left: [], stoppedBy: null })
      }),
    )
  })

  it('costs one call where nothing is wrong, and about two for each halving where one is', async () => {
    const fine = worker(() => false)
    await bisect([1, 2, 3], { work: fine.work, isOwn })
    expect(fine.calls()).toBe(1)
    const one = worker((item) => item === 700)
    await bisect(
      Array.from({ length: 1_024 }, (_, i) => i),
      { work: one.work, isOwn },
    )
    expect(one.calls()).toBe(1 + 2 * 10)
  })

  it('stops at an error that is nobody’s own, and says what is left', async () => {
    const outage = new Error('gone')
    let calls = 0
    const work = async (items: number[]) => {
      if (++calls === 4) throw outage
      if (items.includes(0)) throw new Own()
      return null
    }
    const found = await bisect([0, 1, 2, 3], { work, isOwn })
    expect(found.stoppedBy).toEqual({ error: outage })
    expect(found.bad.map(({ item }) => item)).toEqual([0])
    expect([...found.left, ...found.done.flatMap(({ items }) => items)].sort()).toEqual([1, 2, 3])
  })

  it('stops when enough were found', async () => {
    const { work } = worker(() => true)
    let bad = 0
    const found = await bisect([0, 1, 2, 3, 4], { work, isOwn, enough: () => ++bad === 2 })
    expect(found.bad).toHaveLength(2)
    expect(found.left.sort()).toEqual([2, 3, 4])
  })
})
