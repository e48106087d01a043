import type { Job } from '@carillon/contract'
import { defaults } from '@carillon/contract'
import { expect, it } from 'vitest'
import { definitionOf, valueAt, withType, withValue } from './definition.ts'

const job = {
  ...{ key: 'k', name: 'n', managedBy: null, labels: {}, type: 'CRON', schedule: '0 3 * * *', timezone: 'UTC' },
  ...{ runAt: null, runAtLocal: null, dst: { gap: 'SHIFT', overlap: 'BOTH' }, jitterSec: 0, payload: null },
  ...{ retryPolicy: { ...defaults.retryPolicy, maxAttempts: 2 }, timeoutSec: defaults.timeoutSec, graceSec: 60 },
  ...{ target: { pool: 'default', handler: 'h' }, overlap: 'ALLOW', limits: [], state: 'ACTIVE', version: 3 },
} as unknown as Job

it('says what differs from the defaults, and nothing of where the job stands', () => {
  expect(definitionOf(job)).toEqual({
    ...{ key: 'k', name: 'n', type: 'CRON', schedule: '0 3 * * *', timezone: 'UTC', dst: { overlap: 'BOTH' } },
    ...{ target: { handler: 'h' }, retryPolicy: { maxAttempts: 2 }, graceSec: 60 },
  })
})

it('says no jitter that is the tenant’s', () => {
  expect(definitionOf({ ...job, jitterSec: 60, jitterBy: 'JOB' })).toHaveProperty('jitterSec', 60)
  expect(definitionOf({ ...job, jitterSec: 60, jitterBy: 'TENANT' })).not.toHaveProperty('jitterSec')
})

it('changes one field and keeps the others, also those a form does not know', () => {
  const definition = { ...definitionOf(job), heartbeatTimeoutSec: 9 }
  const changed = withValue(definition, ['retryPolicy', 'backoff'], 'FIXED')
  expect(changed).toMatchObject({ retryPolicy: { maxAttempts: 2, backoff: 'FIXED' }, heartbeatTimeoutSec: 9 })
  const back = withValue(
    withValue(changed, ['retryPolicy', 'backoff'], undefined),
    ['retryPolicy', 'maxAttempts'],
    undefined,
  )
  expect(back).not.toHaveProperty('retryPolicy')
  expect(valueAt(back, ['retryPolicy', 'maxAttempts'])).toBeUndefined()
})

it('another type takes away the time fields of the others', () => {
  const interval = withType({ ...definitionOf(job), dayFields: 'BOTH' }, 'INTERVAL')
  expect(interval).toMatchObject({ type: 'INTERVAL', interval: 'PT15M', graceSec: 60 })
  expect(interval).not.toHaveProperty('schedule')
  expect(interval).not.toHaveProperty('dayFields')
})
