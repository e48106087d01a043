import { describe, expect, it } from 'vitest'
import { Turnstile } from './turnstile.ts'

/** Work that ends when it is told to, and a list of who has begun. */
function crowd(turnstile: Turnstile) {
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const come = (who: string) =>
    turnstile.pass(who[0]!, () => {
      begun.push(who)
      return new Promise<string>((resolve) => ends.set(who, () => resolve(who)))
    })
  const end = async (who: string) => {
    ends.get(who)!()
    await new Promise(setImmediate)
  }
  return { begun, come, end }
}

describe('a turnstile', () => {
  it('lets nobody have more than half of the places', async () => {
    const { begun, come } = crowd(new Turnstile({ places: 4, mostWaiting: 10 }))
    for (const who of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) void come(who)
    expect(begun).toEqual(['a1', 'a2', 'b1', 'b2'])
  })

  it('gives turns to tenants, not to requests', async () => {
    const { begun, come, end } = crowd(new Turnstile({ places: 2, mostWaiting: 10 }))
    for (const who of ['a1', 'b1', 'a2', 'a3', 'a4', 'c1', 'b2']) void come(who)
    for (let i = 0; i < 6; i++) await end(begun[i]!)
    expect(begun.slice(2)).toEqual(['a2', 'b2', 'c1', 'a3', 'a4'])
  })

  it('refuses those for whom there is no room to wait, of that tenant only', async () => {
    const { begun, come } = crowd(new Turnstile({ places: 2, mostWaiting: 1 }))
    for (const who of ['a1', 'a2']) void come(who)
    await expect(come('a3')).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    void come('b1')
    expect(begun).toEqual(['a1', 'b1'])
  })

  it('frees the place of what failed', async () => {
    const turnstile = new Turnstile({ places: 2, mostWaiting: 1 })
    for (let i = 0; i < 5; i++) {
      await expect(turnstile.pass('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
    }
    expect(await turnstile.pass('a', async () => 'through')).toBe('through')
  })
})
