import type { LeasedExecution } from '@carillon/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TenantShare } from './tenant-share.ts'

const of = (tenant: string) => ({ tenant }) as LeasedExecution
const never = () => new Promise<never>(() => {})

describe('a share of the slots', () => {
  it('is half of them for one tenant, a third for each of two', () => {
    const share = new TenantShare(12)
    const begin = (tenant: string, count: number) => {
      const { within } = share.split(Array.from({ length: count }, () => of(tenant)))
      for (const _ of within) void share.run(tenant, never)
      return within.length
    }
    expect(begin('a', 12)).toBe(6)
    expect(begin('b', 12)).toBe(3)
    expect(begin('c', 12)).toBe(2)
    expect(begin('d', 12)).toBe(1)
  })

  it('comes back when its work has ended, however it ended', async () => {
    const share = new TenantShare(2)
    await share.run('a', async () => 1)
    await expect(share.run('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(share.split([of('a'), of('a')]).within).toHaveLength(1)
  })

  it('is never all there is: a tenant that has nothing gets a slot unless there are more tenants than slots', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 50 }), fc.array(fc.nat(5), { maxLength: 300 }), (slots, tenants) => {
        const share = new TenantShare(slots)
        let held = 0
        for (const tenant of tenants) {
          if (held === slots) break
          const { within, beyond } = share.split([of(`${tenant}`)])
          expect(within.length + beyond.length).toBe(1)
          for (const _ of within) void share.run(`${tenant}`, never)
          held += within.length
        }
        if (new Set(tenants).size < Math.log2(slots)) expect(share.split([of('new')]).within).toHaveLength(1)
        if (new Set(tenants).size < Math.log2(slots)) expect(held).toBeLessThan(slots)
      }),
    )
  })
})
