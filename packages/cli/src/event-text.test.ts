import type { Event } from '@carillon/contract'
import { expect, it } from 'vitest'
import { detailsOf, stateOf, subjectOf } from './event-text.ts'

const event = (type: Event['type'], detail: Event['detail']): Event => ({
  ...{ eventId: 1, type, at: '2030-01-01T00:00:00.000Z', tenant: 'default' },
  ...{ jobId: '01900000-0000-7000-8000-000000000000', detail },
})

it('the count of a run is its steps, that of skipped occurrences how many there were in a row', () => {
  const run = event('dag_run.failed', { name: 'nightly', reason: 'STEP_FAILED', count: 5 })
  expect([subjectOf(run), stateOf(run), detailsOf(run)]).toEqual(['nightly', 'FAILED', 'STEP_FAILED, 5 steps'])
  expect(detailsOf(event('execution.skipped', { reason: 'PAUSED', count: 5 }))).toBe('PAUSED, 5 in a row')
})
