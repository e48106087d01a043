import { api, type DagRun } from '@carillon/contract/api'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import { describe, expect, it } from 'vitest'
import type { DagRecord } from '../store/dags/definitions.ts'
import type { DagRunRecord, DagRunStepRecord } from './runs.ts'
import { dagJsonOf, runJsonOf, runSummaryOf } from './view.ts'

const id = '0190a5a0-0000-8000-8000-000000000001'
const run: DagRunRecord = {
  ...{ runId: id, dagId: id, dagVersion: 2, name: 'nightly', tenant: 'acme', labels: { a: 'b' }, state: 'RUNNING' },
  ...{ paused: true, reason: null, stepCount: 2, doneCount: 1, failedCount: 0, createdAt: 0, finishedAt: null },
  ...{ deadlineAt: 60_000, traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, payload: '{"n":1.50}' },
  ...{ startedBy: null, fanOut: false },
}
const step: DagRunStepRecord = {
  ...{ name: 'load', executionId: id, handler: 'l', dependsOn: ['extract'], state: 'DEAD', reason: 'FAILED' },
  ...{ waitFor: null, waitsFor: 0, attempt: 2, startedAt: 1, finishedAt: 2, error: { name: 'Error', message: 'no' } },
  run: { runId: id, state: 'FAILED', stepCount: 5, doneCount: 5, failedCount: 1 },
}
const ajv = new Ajv({ strict: false })
;(formats as unknown as (ajv: Ajv) => void)(ajv)
ajv.addFormat('well-formed', true)

function fitsAnswer(operation: 'getDag' | 'listDagRuns' | 'getDagRun', body: unknown): void {
  if (!ajv.validate(api[operation].answers[200].schema, body)) throw new Error(ajv.errorsText())
}

describe('as the contract has it, with what users sent to the letter,', () => {
  it('a graph', () => {
    const record: DagRecord = {
      ...{ dagId: id, version: 2, tenant: 'acme', name: 'nightly', key: null, managedBy: null, labels: null },
      ...{ deadlineSec: null, state: 'ACTIVE', createdAt: 0, updatedAt: 5 },
      steps: '[{"name":"a","target":{"handler":"h"},"payload":1.50}]',
    }
    const text = dagJsonOf(record)
    expect(text).toContain('"payload":1.50')
    fitsAnswer('getDag', JSON.parse(text))
    expect(JSON.parse(text)).toMatchObject({ labels: {}, updatedAt: '1970-01-01T00:00:00.005Z' })
  })

  it('a run in a list', () => {
    const summary = runSummaryOf(run)
    fitsAnswer('listDagRuns', { items: [summary], nextCursor: null })
    expect(summary).toMatchObject({ traceId: 'a'.repeat(32), finishedAt: null, deadlineAt: '1970-01-01T00:01:00.000Z' })
    expect(runSummaryOf({ ...run, traceparent: null, dagId: null, dagVersion: null })).toMatchObject({ traceId: null })
  })

  it('a run with its steps', () => {
    const text = runJsonOf(run, [step, { ...step, state: 'BLOCKED', startedAt: null, finishedAt: null, error: null }])
    expect(text).toContain('"payload":{"n":1.50}')
    const body = JSON.parse(text) as DagRun
    fitsAnswer('getDagRun', body)
    expect(Object.keys(body).toSorted()).toEqual(Object.keys(api.getDagRun.answers[200].schema.properties).toSorted())
    expect(body.steps[0]).toEqual({
      ...step,
      startedAt: '1970-01-01T00:00:00.001Z',
      finishedAt: '1970-01-01T00:00:00.002Z',
    })
    expect(JSON.parse(runJsonOf({ ...run, payload: null }, [])).payload).toBeNull()
  })
})
