import { describe, expect, it } from 'vitest'
import type { ExecutionRecord } from '../store/executions/read.ts'
import { viewOf } from './view.ts'

const noon = Date.UTC(2030, 0, 15, 12)

function record(more: Partial<ExecutionRecord> = {}): ExecutionRecord {
  return {
    ...{ executionId: 'e', jobId: 'j', jobVersion: 1, tenant: 'acme', pool: 'default', lane: 0, handler: 'h' },
    ...{ origin: 'SCHEDULE', scheduledFor: noon, dueAt: noon + 10, firedAt: noon + 15, state: 'PENDING', reason: null },
    ...{ attempt: 0, startedAt: null, finishedAt: null, workerId: null, fence: null, payload: '{"a":1}' },
    ...{ progress: null, result: null, error: null, log: null, labels: {}, history: [] },
    ...{ skippedCount: null, traceparent: null },
    ...more,
  } as ExecutionRecord
}

describe('an execution as people see it', () => {
  it('waiting: nothing has started', () => {
    expect(viewOf(record())).toMatchObject({
      ...{
        priority: 'CRITICAL',
        scheduledFor: new Date(noon),
        dueAt: new Date(noon + 10),
        firedAt: new Date(noon + 15),
      },
      ...{ startedAt: null, finishedAt: null, durationMs: null, latenessMs: null, payload: { a: 1 }, log: '' },
      timeline: [{ at: noon + 15, to: 'PENDING' }],
    })
  })

  it('succeeded: lateness counts from due to started, and the timeline ends with it', () => {
    const view = viewOf(
      record({
        state: 'SUCCEEDED',
        attempt: 1,
        startedAt: noon + 30,
        finishedAt: noon + 530,
        result: '[1]',
        log: 'x\n',
      }),
    )
    expect(view).toMatchObject({ latenessMs: 20, durationMs: 500, result: [1], log: 'x\n' })
    expect(view.timeline.map(({ to }) => to)).toEqual(['PENDING', 'RUNNING', 'SUCCEEDED'])
  })

  it('skipped: from its birth', () => {
    const view = viewOf(record({ state: 'SKIPPED', reason: 'PAUSED', skippedCount: 7 }))
    expect(view).toMatchObject({ reason: 'PAUSED', skippedCount: 7 })
    expect(view.timeline.map(({ to }) => to)).toEqual(['SKIPPED'])
  })

  it('attempts are the entries of the history that used one', () => {
    const history = [
      { at: noon + 20, to: 'HANDED_BACK', attempt: 1 },
      { at: noon + 40, to: 'FAILED', attempt: 1 },
    ] as ExecutionRecord['history']
    const view = viewOf(record({ history }))
    expect(view.attempts.map(({ to }) => to)).toEqual(['FAILED'])
    expect(view.timeline.map(({ to }) => to)).toEqual(['PENDING', 'HANDED_BACK', 'FAILED'])
  })

  it('a clock that went back makes no negative duration', () => {
    expect(viewOf(record({ startedAt: noon + 30, finishedAt: noon + 20 })).durationMs).toBe(0)
  })
})
