import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Logger } from '../observability/logger.ts'
import type { Signal, Signals } from '../signals/port.ts'
import { Ends } from './ends.ts'

let ended: string[]
let tell: (signal: Signal) => void
let asked: string[][]
let ends: Ends

beforeEach(async () => {
  ended = []
  asked = []
  const statusReads = {
    ended: async (ids: string[]) => {
      asked.push(ids)
      return new Set(ids.filter((id) => ended.includes(id)))
    },
  }
  const signals = {
    subscribe: (listener: typeof tell) => {
      tell = listener
      return () => {}
    },
  } as Signals
  ends = new Ends({ statusReads, signals, logger: { warn: vi.fn() } as unknown as Logger })
  await ends.start()
})
afterEach(() => ends.stop())

describe('waiting for an end', () => {
  it('one that has ended already is found at once', async () => {
    ended = ['a']
    expect(await ends.wait('a', 60_000)).toBe(true)
  })

  it('one that ends at this node is heard of', async () => {
    const waiting = ends.wait('a', 60_000)
    tell({ kind: 'ENDED', executionIds: ['a'] })
    expect(await waiting).toBe(true)
  })

  it('ends with its time, or when the waiter has gone', async () => {
    expect(await ends.wait('a', 1)).toBe(false)
    const gone = new AbortController()
    const waiting = ends.wait('b', 60_000, gone.signal)
    gone.abort()
    expect(await waiting).toBe(false)
    expect(await ends.wait('c', 60_000, AbortSignal.abort())).toBe(false)
    asked = []
    ended = ['d']
    expect(await ends.wait('d', 60_000)).toBe(true)
    expect(asked.flat(), 'nobody waits for the others any more').toEqual(['d'])
  })
})
