import { describe, expect, it } from 'vitest'
import type { ExecutionRecord } from '../store/executions/read.ts'
import { jsonOf, viewOf } from './view.ts'

const noon = Date.UTC(2030, 0, 15, 12)

function record(more: Partial<ExecutionRecord> = {}): ExecutionRecord {
  return {
    ...{ executionId: 'e', jobId: 'j', jobVersion: 1, tenant: 'acme', pool: 'default', lane: 0, handler: 'h' },
    ...{ origin: 'SCHEDULE', scheduledFor: noon, dueAt: noon + 10, firedAt: noon + 15, state: 'PENDING', reason: null },
    ...{ attempt: 0, startedAt: null, finishedAt: null, workerId: null, fence: null, payload: '{"a":1}' },
    ...{ progress: null, result: null, error: null, policy: null, labels: {}, history: [] },
    ...{ skippedCount: null, traceparent: null, name: null },
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
      ...{ startedAt: null, finishedAt: null, durationMs: null, latenessMs: null, payload: { a: 1 }, maxAttempts: 4 },
      timeline: [{ at: new Date(noon + 15), to: 'PENDING' }],
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
      }),
    )
    expect(view).toMatchObject({ latenessMs: 20, durationMs: 500, result: [1] })
    expect(view.timeline.map(({ to }) => to)).toEqual(['PENDING', 'RUNNING', 'SUCCEEDED'])
  })

  it.each<[string, Partial<ExecutionRecord>, number | null]>([
    ['succeeded at its second attempt', { state: 'SUCCEEDED', attempt: 2, startedAt: noon + 60_000 }, 20],
    ['running its second attempt', { state: 'RUNNING', attempt: 2, startedAt: noon + 60_000 }, 20],
    ['waiting for a retry', { state: 'FAILED', attempt: 1 }, 20],
    ['replayed, with all its attempts again', { state: 'SUCCEEDED', attempt: 1, startedAt: noon + 99_000 }, 20],
  ])('%s: lateness is that of the first attempt', (_, more, latenessMs) => {
    const history = [
      { at: noon + 25, to: 'HANDED_BACK', attempt: 1, startedAt: noon + 20 },
      { at: noon + 40, to: 'FAILED', attempt: 1, startedAt: noon + 30 },
    ] as ExecutionRecord['history']
    expect(viewOf(record({ ...more, history, finishedAt: noon + 100_000 })).latenessMs).toBe(latenessMs)
  })

  it('handed back and then cancelled: it never started', () => {
    const history = [
      { at: noon + 25, to: 'HANDED_BACK', attempt: 1, startedAt: noon + 20 },
    ] as ExecutionRecord['history']
    const more = { state: 'CANCELLED', attempt: 0, startedAt: noon + 20, finishedAt: noon + 50 } as const
    expect(viewOf(record({ ...more, history })).latenessMs).toBeNull()
  })

  it('skipped: from its birth', () => {
    const view = viewOf(record({ state: 'SKIPPED', reason: 'PAUSED', skippedCount: 7, finishedAt: noon + 15 }))
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

  it('expired: it was pending first', () => {
    const view = viewOf(record({ state: 'SKIPPED', reason: 'EXPIRED', finishedAt: noon + 5_000 }))
    expect(view.timeline).toEqual([
      { at: new Date(noon + 15), to: 'PENDING' },
      { at: new Date(noon + 5_000), to: 'SKIPPED', reason: 'EXPIRED' },
    ])
  })

  it('dead: the timeline goes on from the last attempt to the end', () => {
    const history = [{ at: noon + 40, to: 'FAILED', attempt: 1 }] as ExecutionRecord['history']
    const view = viewOf(record({ state: 'DEAD', reason: 'ATTEMPTS_EXHAUSTED', finishedAt: noon + 40, history }))
    expect(view.timeline.map(({ to }) => to)).toEqual(['PENDING', 'FAILED', 'DEAD'])
  })

  it('backfilled: skipped at its birth, then pending', () => {
    const history = [
      { at: noon + 15, to: 'SKIPPED', reason: 'PAUSED' },
      { at: noon + 99, to: 'PENDING', reason: 'BACKFILLED' },
    ] as ExecutionRecord['history']
    expect(viewOf(record({ history })).timeline.map(({ to }) => to)).toEqual(['SKIPPED', 'PENDING'])
  })

  it('names the trace that it belongs to, if that is one', () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    expect(viewOf(record({ traceparent })).traceId).toBe('4bf92f3577b34da6a3ce929d0e0e4736')
    expect(viewOf(record({ traceparent: 'nonsense' })).traceId).toBeNull()
  })

  it('counts the attempts it may have', () => {
    expect(viewOf(record({ policy: { retryPolicy: { maxAttempts: 9 } } })).maxAttempts).toBe(9)
  })

  it('as JSON: what users sent to the letter', () => {
    const json = jsonOf(record({ payload: '{"big": 12345678901234567890, "n": 1.0}', result: '"\\u0000"' }))
    expect(json).toContain('"payload":{"big": 12345678901234567890, "n": 1.0},"progress":null,"result":"\\u0000"}')
    expect(JSON.parse(json).result).toBe('\u0000')
  })

  it('a clock that went back makes no negative duration', () => {
    expect(viewOf(record({ startedAt: noon + 30, finishedAt: noon + 20 })).durationMs).toBe(0)
  })
})
