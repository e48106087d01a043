import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Batcher } from './batcher.ts'

/** Writes that are answered when the test says so. */
class Writer {
  readonly batches: number[][] = []
  mostAtOnce = 0
  #open: ((error?: Error) => void)[] = []

  readonly flush = (items: number[]) => {
    this.batches.push(items)
    return new Promise<string[]>((resolve, reject) => {
      this.#open.push((error) => (error ? reject(error) : resolve(items.map((item) => `answer ${item}`))))
      this.mostAtOnce = Math.max(this.mostAtOnce, this.#open.length)
    })
  }

  /** Answers the oldest batch and waits until the next one, if there is any, has gone out. */
  async answer(error?: Error): Promise<void> {
    this.#open.shift()?.(error)
    await turn()
    await turn()
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))
const add = (batcher: Batcher<number, string>, ...items: number[]) => items.map((item) => batcher.add(item))

describe('a batcher', () => {
  it('writes together what arrives in one turn of the event loop, and answers each with its own', async () => {
    const writer = new Writer()
    const answers = add(new Batcher({ maxItems: () => 10, flush: writer.flush }), 1, 2, 3)
    await turn()
    await writer.answer()
    expect(writer.batches).toEqual([[1, 2, 3]])
    expect(await Promise.all(answers)).toEqual(['answer 1', 'answer 2', 'answer 3'])
  })

  it('gathers while a batch is under way, and sends the rest when it is answered', async () => {
    const writer = new Writer()
    const batcher = new Batcher({ maxItems: () => 10, flush: writer.flush })
    add(batcher, 1)
    await turn()
    add(batcher, 2)
    await turn()
    add(batcher, 3)
    await turn()
    expect(writer.batches).toEqual([[1]])
    await writer.answer()
    expect(writer.batches).toEqual([[1], [2, 3]])
  })

  it('answers what was added together in its order, though it went out apart', async () => {
    const writer = new Writer()
    const batcher = new Batcher({ maxItems: () => 2, flush: writer.flush })
    const all = batcher.addAll([1, 2, 3])
    await turn()
    await writer.answer()
    await writer.answer()
    expect(writer.batches).toEqual([[1, 2], [3]])
    expect(await all).toEqual(['answer 1', 'answer 2', 'answer 3'])
    expect(await batcher.addAll([])).toEqual([])
  })

  it('fails what was added together if a part of it fails', async () => {
    const writer = new Writer()
    const all = new Batcher({ maxItems: () => 2, flush: writer.flush }).addAll([1, 2, 3])
    const failed = expect(all).rejects.toThrow('down')
    await turn()
    await writer.answer()
    await writer.answer(new Error('down'))
    await failed
  })

  it('sends a batch beside another one only if it is worth it', async () => {
    const writer = new Writer()
    const batcher = new Batcher({ maxItems: () => 10, concurrency: 2, besideItems: 3, flush: writer.flush })
    add(batcher, 1)
    await turn()
    add(batcher, 2, 3)
    await turn()
    expect(writer.batches).toEqual([[1]])
    add(batcher, 4)
    await turn()
    expect(writer.batches).toEqual([[1], [2, 3, 4]])
    add(batcher, 5)
    await writer.answer()
    await writer.answer()
    expect(writer.batches).toEqual([[1], [2, 3, 4], [5]])
  })

  it('gathers for a time what is in no hurry', async () => {
    const writer = new Writer()
    const batcher = new Batcher({ maxItems: () => 10, gatherMs: 20, flush: writer.flush })
    add(batcher, 1)
    await turn()
    add(batcher, 2)
    await expect.poll(() => writer.batches).toEqual([[1, 2]])
  })

  it('cuts at maxItems', async () => {
    const writer = new Writer()
    add(new Batcher({ maxItems: () => 2, flush: writer.flush }), 1, 2, 3, 4, 5)
    for (let i = 0; i < 3; i++) {
      await turn()
      await writer.answer()
    }
    expect(writer.batches).toEqual([[1, 2], [3, 4], [5]])
    expect(writer.mostAtOnce).toBe(1)
  })

  it('asks before each batch how large it may be', async () => {
    const writer = new Writer()
    const sizes = [3, 1, 2]
    add(new Batcher({ maxItems: () => sizes.shift()!, flush: writer.flush }), 1, 2, 3, 4, 5, 6)
    for (let i = 0; i < 3; i++) {
      await turn()
      await writer.answer()
    }
    expect(writer.batches).toEqual([[1, 2, 3], [4], [5, 6]])
  })

  it('has as many batches under way as it may, and no more', async () => {
    const writer = new Writer()
    const batcher = new Batcher({ maxItems: () => 1, concurrency: 2, flush: writer.flush })
    add(batcher, 1, 2, 3)
    for (let i = 0; i < 4; i++) await turn()
    expect(writer.batches).toEqual([[1], [2]])
    await writer.answer()
    expect(writer.batches).toEqual([[1], [2], [3]])
    expect(writer.mostAtOnce).toBe(2)
  })

  it('rejects every item of a batch that failed, and of no other', async () => {
    const writer = new Writer()
    const batcher = new Batcher({ maxItems: () => 2, flush: writer.flush })
    const settled = Promise.allSettled(add(batcher, 1, 2, 3))
    await turn()
    await writer.answer(new Error('no database'))
    await writer.answer()
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled'])
  })

  it('rejects when the write throws before it begins', async () => {
    const batcher = new Batcher<number, string>({
      maxItems: () => 2,
      flush: () => {
        throw new Error('at once')
      },
    })
    await expect(batcher.add(1)).rejects.toThrow('at once')
  })
})

describe('idle', () => {
  it('resolves at once when there is nothing', async () => {
    await new Batcher({ maxItems: () => 1, flush: new Writer().flush }).idle()
  })

  it('sends what is left and waits until all of it is answered, failures too', async () => {
    const writer = new Writer()
    const batcher = new Batcher({ maxItems: () => 1, flush: writer.flush })
    const settled = Promise.allSettled(add(batcher, 1, 2))
    let idle = false
    const waiting = batcher.idle().then(() => {
      idle = true
    })
    expect(writer.batches).toEqual([[1]])
    await writer.answer(new Error('no'))
    expect(idle).toBe(false)
    await writer.answer()
    await waiting
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  })
})

describe('whatever arrives when', () => {
  it('every item is written once, in order, in batches of the allowed size, and gets its own answer', async () => {
    const bursts = fc.array(fc.integer({ min: 0, max: 7 }), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(
        bursts,
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 3 }),
        async (sizes, max, many) => {
          const written: number[] = []
          const batcher = new Batcher<number, number>({
            maxItems: () => max,
            concurrency: many,
            flush: async (items) => {
              expect(items.length).toBeLessThanOrEqual(max)
              written.push(...items)
              if (items[0]! % 3 === 0) await turn()
              return items.map((item) => item * 10)
            },
          })
          const answers: Promise<number>[] = []
          for (const size of sizes) {
            for (let i = 0; i < size; i++) answers.push(batcher.add(answers.length))
            await turn()
          }
          await batcher.idle()
          expect(written).toEqual(answers.map((_, i) => i))
          expect(await Promise.all(answers)).toEqual(answers.map((_, i) => i * 10))
        },
      ),
      { numRuns: 50 },
    )
  })
})
