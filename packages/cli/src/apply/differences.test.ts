import { defaults, type Job } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { differences } from './differences.ts'
import type { DeclaredJob } from './manifest.ts'

const declared: DeclaredJob = {
  key: 'a',
  managedBy: 'm',
  type: 'INTERVAL',
  interval: 'PT1H',
  target: { handler: 'x' },
}

const shown: Job = {
  jobId: '01900000-0000-7000-8000-000000000000',
  key: 'a',
  name: 'a',
  tenant: 'default',
  managedBy: 'm',
  labels: {},
  state: 'PAUSED',
  version: 7,
  type: 'INTERVAL',
  after: null,
  schedule: null,
  interval: 'PT1H',
  anchor: '2030-01-01T00:00:00.000Z',
  runAt: null,
  runAtLocal: null,
  dayFields: 'EITHER',
  delayMs: null,
  timezone: 'UTC',
  dst: defaults.dst,
  startAt: null,
  endAt: null,
  maxFires: null,
  jitterSec: 0,
  jitterBy: 'JOB',
  misfire: defaults.misfire,
  misfireAfterSec: defaults.misfireAfterSec,
  maxCatchUp: defaults.maxCatchUp,
  graceSec: null,
  overlap: defaults.overlap,
  pauseAfterFailures: null,
  priority: defaults.priority,
  retryPolicy: defaults.retryPolicy,
  timeoutSec: defaults.timeoutSec,
  deadlineSec: null,
  heartbeatTimeoutSec: null,
  startWithinSec: null,
  cancelGraceSec: defaults.cancelGraceSec,
  unknownHandlerSec: defaults.unknownHandlerSec,
  delivery: defaults.delivery,
  limits: [],
  target: { pool: 'default', handler: 'x' },
  payload: null,
  nextFireAt: null,
  nextFireLocal: null,
  lastExecutionId: null,
  lastState: null,
  lastRunAt: null,
  createdAt: '2030-01-01T00:00:00.000Z',
  updatedAt: '2030-01-01T00:00:00.000Z',
}

const changed = (more: Partial<DeclaredJob>, job: Partial<Job> = {}) =>
  differences({ ...declared, ...more }, { ...shown, ...job })

describe('differences', () => {
  it('none: defaults are filled in, pause and anchor are not the file’s business', () => {
    expect(changed({})).toEqual([])
    expect(changed({ name: 'a', timezone: 'UTC', retryPolicy: { factor: 2 }, payload: null })).toEqual([])
  })

  it('two writings of one instant are the same', () => {
    expect(changed({ startAt: '2030-01-01T02:00:00+02:00' }, { startAt: '2030-01-01T00:00:00.000Z' })).toEqual([])
    expect(changed({ anchor: '2030-01-01T00:00:00Z' })).toEqual([])
  })

  it('names the parts of a group that differ, and only those', () => {
    expect(changed({ retryPolicy: { maxAttempts: 9 }, labels: { team: 'x' } })).toEqual([
      { field: 'retryPolicy.maxAttempts', from: 4, to: 9 },
      { field: 'labels.team', from: null, to: 'x' },
    ])
  })

  it('what is left out goes back to its default', () => {
    expect(changed({}, { timeoutSec: 600, labels: { a: 'b' }, payload: { x: 1 } })).toEqual([
      { field: 'timeoutSec', from: 600, to: 300 },
      { field: 'labels.a', from: 'b', to: null },
      { field: 'payload', from: { x: 1 }, to: null },
    ])
  })

  it('another type takes the time field of the one before away', () => {
    const { interval: _, ...rest } = declared
    expect(differences({ ...rest, type: 'CRON', schedule: '@daily' }, shown)).toContainEqual({
      field: 'interval',
      from: 'PT1H',
      to: null,
    })
  })

  it('another owner is a change that is seen', () => {
    expect(changed({}, { managedBy: null })).toEqual([{ field: 'managedBy', from: null, to: 'm' }])
  })
})
