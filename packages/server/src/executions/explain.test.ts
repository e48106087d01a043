import { describe, expect, it } from 'vitest'
import { outsideWorkerId } from '../domain/outside-worker.ts'
import type { ExecutionRecord } from '../store/executions/read.ts'
import type { Placement, ServingWorker } from '../store/executions/read-placement.ts'
import { explainEnded, explainToCome, explainUnfinished, type Surroundings } from './explain.ts'

const now = Date.UTC(2030, 0, 15, 3)
const record = (more: Partial<ExecutionRecord> = {}) =>
  ({
    ...{ executionId: 'e', jobId: 'j', tenant: 'acme', pool: 'email', lane: 2, handler: 'send', state: 'PENDING' },
    ...{ attempt: 0, reason: null, error: null, finishedAt: null, history: [], ...more },
  }) as ExecutionRecord

const free: ServingWorker = { workerId: 'w', name: 'w1', seenAt: now, slots: 5, knowsHandler: true, running: 0 }

function explain(more: Partial<Placement> = {}, around: Partial<Surroundings> = {}, of: Partial<ExecutionRecord> = {}) {
  const placement: Placement = {
    ...{ jobState: null, overlap: null, poolPaused: false, backAt: null, waits: false, holders: [], queued: true },
    ...{ lease: null, blocked: null, limit: null, ...more },
  }
  const nothing = { placement, workers: [free], ahead: { lane: 0, above: 0 }, above: [], now, suspectMs: 15_000 }
  return explainUnfinished(record(of), { ...nothing, ...around })
}

const codes = (explanation: { reasons: { code: string }[] }) => explanation.reasons.map(({ code }) => code)

describe('why it is not running', () => {
  it('names everything, the first thing first', () => {
    const holders = [{ executionId: 'x', worker: 'w7' }]
    const all = explain(
      { poolPaused: true, backAt: now + 1, waits: true, overlap: 'QUEUE_ONE', holders, jobState: 'PAUSED' },
      { workers: [] },
      { state: 'FAILED', attempt: 2 },
    )
    expect(codes(all)).toEqual(['POOL_PAUSED', 'RETRY_LATER', 'OVERLAP', 'NO_LIVE_WORKER', 'JOB_PAUSED'])
    expect(all.summary).toBe('Not running: the pool email is paused (resume it with POST /v1/pools/email/resume).')
    expect(all.reasons[2]!.message).toContain('x on w7')
  })

  it('a limit has no slot, no rate, or has gone', () => {
    const full = {
      ...{ name: 'acct', what: '42', concurrency: 2, taken: 2, rate: null, nextAt: null, ahead: 3 },
      holders: [{ executionId: 'x', worker: 'w7' }],
    }
    const { summary } = explain({ limit: full, queued: false })
    expect(summary).toBe(
      'Not running: the limit acct for 42 has no slot left: 2 of 2 are taken, held by x on w7 and 1 more; 3 of its tenant wait before it (wait for one of those to end, or raise it with PUT /v1/limits/acct).',
    )
    expect(explain({ limit: { ...full, concurrency: 0 } }).summary).toContain('lets nothing start')
    const rate = { ...full, taken: 1, rate: { count: 5, perSec: 60 }, nextAt: now + 4_000 }
    expect(explain({ limit: rate }).summary).toContain('allows 5 in 60 s, the next at 2030-01-15T03:00:04.000Z')
    expect(codes(explain({ limit: { ...rate, nextAt: null } }))).toEqual(['READY'])
    expect(codes(explain({ limit: { ...full, name: null } }))).toEqual(['READY'])
  })

  it('a retry that is not due', () => {
    const { summary } = explain({ backAt: now + 5_000 }, {}, { state: 'TIMED_OUT', attempt: 1 })
    expect(summary).toBe(
      'Not running: attempt 1 took too long; it is not due until 2030-01-15T03:00:05.000Z (wait, or fix the cause).',
    )
    expect(codes(explain({ backAt: now + 5_000 }))).toEqual(['HANDED_BACK'])
    expect(codes(explain({ backAt: now - 5 }))).toEqual(['READY'])
  })

  it('a step waits for others, or for its run', () => {
    const ofSlots = { queued: false, slots: null, active: 0 }
    const waits = { remaining: 2, total: 3, steps: ['load', 'check'], held: false, runPaused: false, ...ofSlots }
    const { summary } = explain({ blocked: waits, queued: false }, {}, { state: 'BLOCKED' })
    expect(summary).toBe(
      'Not running: it waits for load, check: 1 of the 3 steps it depends on have ended (explain those).',
    )
    const ofRun = (more: object) => codes(explain({ blocked: { ...waits, remaining: 0, ...more } }))
    expect(ofRun({ held: true, runPaused: true })).toEqual(['RUN_PAUSED'])
    expect(ofRun({ held: true })).toEqual(['HELD_BACK'])
    expect(ofRun({})).toEqual(['READY'])
    expect(codes(explain({ blocked: { ...waits, runPaused: true } }))).toEqual(['WAITS_FOR_STEPS', 'RUN_PAUSED'])
    const slots = { queued: true, slots: 3, active: 3 }
    expect(ofRun(slots)).toEqual(['WAITS_FOR_SLOT'])
    expect(ofRun({ ...slots, active: 2 })).toEqual(['READY'])
  })

  it('a pause is ended where it began', () => {
    const blocked = {
      ...{ remaining: 0, total: 0, steps: [], held: true, runPaused: true },
      ...{ queued: true, slots: 3, active: 0 },
    }
    const above = [
      { runId: 'items', paused: true, startedBy: 'e1' },
      { runId: 'inner', paused: true, startedBy: 'e2' },
      { runId: 'outer', paused: false, startedBy: null },
    ]
    const { reasons } = explain({ blocked }, { above })
    expect(reasons).toEqual([
      {
        code: 'RUN_PAUSED',
        message: 'the run inner, which its run is part of, is paused',
        hint: 'resume it with POST /v1/dag-runs/inner/resume',
      },
    ])
    expect(explain({ blocked }, { above: above.slice(0, 1) }).reasons[0]!.message).toBe('its run is paused')
  })

  it('nobody serves the pool, is heard of, or has the handler', () => {
    expect(explain({}, { workers: [] }).summary).toContain('no worker serves the pool email')
    const silent = { ...free, seenAt: now - 20_000 }
    expect(explain({}, { workers: [silent] }).summary).toContain('are silent: w1')
    const ignorant = { ...free, knowsHandler: false }
    expect(explain({}, { workers: [ignorant, silent] }).summary).toContain('has the handler send (live: w1)')
  })

  it('no slot is free, or others come first', () => {
    const busy = { ...free, running: 5 }
    const full = explain({}, { workers: [busy], ahead: { lane: 3, above: 10_000 } })
    expect(codes(full)).toEqual(['NO_FREE_SLOT'])
    expect(full.summary).toContain('3 before it in the lane NORMAL and 10000 or more in higher ones')
    expect(codes(explain({}, { ahead: { lane: 1, above: 0 } }))).toEqual(['IN_QUEUE'])
  })

  it('nothing is in its way', () => {
    expect(codes(explain())).toEqual(['READY'])
    expect(codes(explain({ jobState: 'PAUSED' }))).toEqual(['READY', 'JOB_PAUSED'])
    expect(explain({ queued: false }).summary).toContain('on its way into the queue')
  })

  const outside = { overdueAt: now + 60_000, cancelAt: null, run: null }
  const lease = { workerId: outsideWorkerId, worker: null, leasedAt: now, seenAt: null, ...outside }

  it('it waits for a signal, until its time is over', () => {
    const { reasons } = explain({ lease }, {}, { handler: 'carillon.signal', jobId: 'run', name: 'approve' })
    expect(reasons).toEqual([
      {
        code: 'WAITS_FOR_SIGNAL',
        message:
          'it waits for a signal since 2030-01-15T03:00:00.000Z, until 2030-01-15T03:01:00.000Z; then it is DEAD',
        hint: 'signal it with POST /v1/dag-runs/run/steps/approve/signal, or: carillon dag-runs signal run approve',
      },
    ])
  })

  it('it waits for the run that it has started', () => {
    const counts = { state: 'RUNNING' as const, stepCount: 40, doneCount: 12, failedCount: 1 }
    const run = { runId: 'inner', ...counts, paused: false, fanOut: false }
    const said = (more: object, above: Surroundings['above'] = []) =>
      explain({ lease: { ...lease, run: { ...run, ...more } } }, { above }).reasons.map(({ message }) => message)
    expect(said({})).toEqual(['it waits for the run inner: 12 of 40 steps have ended, 1 failed'])
    expect(said({ fanOut: true })).toEqual(['it waits for its items, the run inner: 12 of 40 have ended, 1 failed'])
    const above = [{ runId: 'inner', paused: true, startedBy: 'e' }]
    expect(said({ paused: true }, above)[1]).toBe('that run is paused')
  })

  it('it runs: who has it, and whether that one is heard of', () => {
    const lease = { workerId: 'w', worker: 'w1', leasedAt: now - 60_000, seenAt: now, ...outside }
    const runs = explain({ lease }, {}, { state: 'RUNNING' })
    expect(runs.summary).toBe('It runs: it is leased by worker w1 since 2030-01-15T02:59:00.000Z.')
    const suspect = { ...lease, seenAt: now - 20_000, cancelAt: now }
    expect(codes(explain({ lease: suspect }))).toEqual(['CANCELLING', 'WORKER_SUSPECT', 'LEASED'])
    expect(explain({ lease: { ...lease, worker: null, seenAt: null } }).summary).toContain(
      'worker w holds it and is not known',
    )
  })

  it('it is over, or still to come', () => {
    const error = { name: 'TypeError', message: 'no' }
    const dead = record({ state: 'DEAD', reason: 'ATTEMPTS_EXHAUSTED', error, attempt: 4, finishedAt: now })
    expect(explainEnded(dead, []).summary).toContain('as DEAD (ATTEMPTS_EXHAUSTED, TypeError: no), after 4 attempts')
    const step = record({ state: 'SKIPPED', reason: 'DEPENDENCY_FAILED', finishedAt: now, origin: 'DAG', jobId: 'run' })
    const above = [{ runId: 'run', paused: false, startedBy: null }]
    expect(explainEnded(step, above).reasons[0]!.hint).toContain('POST /v1/dag-runs/run/retry')
    const item = [
      { ...above[0]!, startedBy: 'e' },
      { runId: 'outer', paused: false, startedBy: null },
    ]
    expect(explainEnded(step, item).reasons[0]!.hint).toContain('POST /v1/dag-runs/outer/retry')
    expect(explainEnded(step, [item[0]!]).reasons[0]!.hint).toContain('POST /v1/executions/e/retry')
    const follower = {
      history: [{ at: now, to: 'SKIPPED', actor: 'scheduler', after: 'x' }],
    } as Partial<ExecutionRecord>
    const skipped = record({ state: 'SKIPPED', reason: 'PAUSED', finishedAt: now, ...follower })
    expect(explainEnded(skipped, []).reasons[0]!.hint).toContain('POST /v1/jobs/j/trigger')
    const coming = { due: now, paused: true, pool: 'email', handler: 'send' }
    expect(codes(explainToCome('e', coming))).toEqual(['JOB_PAUSED', 'NOT_DUE'])
  })
})
