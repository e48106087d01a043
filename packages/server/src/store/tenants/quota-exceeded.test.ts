import { quotaNames } from '@carillon/contract'
import { expect, it } from 'vitest'
import { quotaExceeded, refusalOf } from './quota-exceeded.ts'

it.each(quotaNames)('%s: the error names the quota, its value and what to do', (quota) => {
  const error = quotaExceeded({ quota, limit: 7 })
  expect(error).toMatchObject({ code: 'QUOTA_EXCEEDED', status: 429, retryAfterMs: 30_000 })
  expect(error.errors[0]!.message).toMatch(new RegExp(`^${quota}: the tenant may .*\\b7\\b`))
  expect(error.errors[0]!.hint).toContain(`ask the operator to raise ${quota}`)
})

it('reads what SQL refused, of any driver, and nothing else', () => {
  const detail = '{"quota": "maxJobs", "limit": 3}'
  expect(refusalOf(Object.assign(new Error(), { code: 'CA002', detail }))).toEqual({ quota: 'maxJobs', limit: 3 })
  expect(refusalOf(Object.assign(new Error(), { code: 'CA001', detail }))).toBeNull()
  expect(refusalOf(Object.assign(new Error(), { code: 'CA002' }))).toBeNull()
  expect(refusalOf(new Error('CA002'))).toBeNull()
})
