import { describe, expect, it } from 'vitest'
import { TenantLimiter } from './tenant-limiter.ts'

/** Requests that end on demand, and the order in which they began. */
function requestsTo(limiter: TenantLimiter) {
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const send = (name: string) =>
    limiter.run(name[0]!, () => {
      begun.push(name)
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
    })
  const end = async (name: string) => {
    ends.get(name)!()
    await new Promise(setImmediate)
  }
  return { begun, send, end }
}

describe('a tenant limiter', () => {
  it('gives no tenant more than half of the slots', async () => {
    const { begun, send } = requestsTo(new TenantLimiter({ slots: 4, maxWaiting: 10 }))
    for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) void send(name)
    expect(begun).toEqual(['a1', 'a2', 'b1', 'b2'])
  })

  it('takes turns by tenant, not by request', async () => {
    const { begun, send, end } = requestsTo(new TenantLimiter({ slots: 2, maxWaiting: 10 }))
    for (const name of ['a1', 'b1', 'a2', 'a3', 'a4', 'c1', 'b2']) void send(name)
    for (let i = 0; i < 6; i++) await end(begun[i]!)
    expect(begun.slice(2)).toEqual(['a2', 'b2', 'c1', 'a3', 'a4'])
  })

  it('refuses requests beyond maxWaiting, of that tenant only', async () => {
    const { begun, send } = requestsTo(new TenantLimiter({ slots: 2, maxWaiting: 1 }))
    for (const name of ['a1', 'a2']) void send(name)
    await expect(send('a3')).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    void send('b1')
    expect(begun).toEqual(['a1', 'b1'])
  })

  it('releases the slot of work that failed', async () => {
    const limiter = new TenantLimiter({ slots: 2, maxWaiting: 1 })
    for (let i = 0; i < 5; i++) {
      await expect(limiter.run('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
    }
    expect(await limiter.run('a', async () => 'done')).toBe('done')
  })
})
