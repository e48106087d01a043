import { type Dag, defaults } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { dagDifferences } from './dag-differences.ts'
import type { DeclaredDag } from './manifest.ts'

const at = '2030-01-01T00:00:00.000Z'
const extract = { name: 'extract', target: { handler: 'extract' } }
const load = { name: 'load', target: { handler: 'load' }, dependsOn: ['extract', 'check'] }
const check = { name: 'check', target: { handler: 'check' } }
const declared: DeclaredDag = { key: 'nightly', managedBy: 'm', steps: [extract, check, load] }
const shown: Dag = {
  ...{ dagId: '01900000-0000-7000-8000-000000000000', key: 'nightly', name: 'nightly', tenant: 'default' },
  ...{ managedBy: 'm', labels: {}, state: 'ACTIVE', version: 2, deadlineSec: null, createdAt: at, updatedAt: at },
  steps: [extract, check, load],
}

const changed = (more: Partial<DeclaredDag>, dag: Partial<Dag> = {}) =>
  dagDifferences({ ...declared, ...more }, { ...shown, ...dag })

describe('differences of graphs', () => {
  it('none: defaults are filled in, and dependencies have no order', () => {
    expect(changed({})).toEqual([])
    const written = {
      ...load,
      ...{ dependsOn: ['check', 'extract'], runIf: 'ALL_SUCCEEDED' as const, allowFailure: false, payload: null },
      ...{ target: { pool: 'default', handler: 'load' }, retryPolicy: { factor: defaults.retryPolicy.factor } },
      ...{ timeoutSec: defaults.timeoutSec, labels: {} },
    }
    expect(changed({ name: 'nightly', labels: {}, steps: [extract, check, written] })).toEqual([])
  })

  it('names the step and its field', () => {
    const slower = { ...load, retryPolicy: { maxAttempts: 9 }, dependsOn: ['extract'] }
    expect(changed({ deadlineSec: 60, steps: [extract, check, slower] })).toEqual([
      { field: 'deadlineSec', from: null, to: 60 },
      { field: 'steps.load.dependsOn', from: ['check', 'extract'], to: ['extract'] },
      { field: 'steps.load.retryPolicy.maxAttempts', from: 4, to: 9 },
    ])
  })

  it('what was set before and is left out goes back to its default', () => {
    const steps = [extract, check, { ...load, heartbeatTimeoutSec: 5, runIf: 'ALL_DONE' as const }]
    expect(changed({}, { steps, labels: { a: 'b' } })).toEqual([
      { field: 'labels.a', from: 'b', to: null },
      { field: 'steps.load.runIf', from: 'ALL_DONE', to: 'ALL_SUCCEEDED' },
      { field: 'steps.load.heartbeatTimeoutSec', from: 5, to: null },
    ])
  })

  it('steps that come and go, and another order of them', () => {
    const tell = { name: 'tell', target: { handler: 'tell' } }
    expect(changed({ steps: [extract, check, tell] })).toEqual([
      { field: 'steps.load', from: { handler: 'load' }, to: null },
      { field: 'steps.tell', from: null, to: { handler: 'tell' } },
    ])
    expect(changed({ steps: [check, extract, load] })).toEqual([
      { field: 'order of the steps', from: ['extract', 'check', 'load'], to: ['check', 'extract', 'load'] },
    ])
  })
})
