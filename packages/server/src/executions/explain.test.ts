import { describe, expect, it } from 'vitest'
import type { ExecutionRecord } from '../store/executions/read.ts'
import type { Placement, ServingWorker } from '../store/executions/read-placement.ts'
import { explainEnded, explainToCome, explainUnfinished, type Surroundings } from './explain.ts'

const now = Date.UTC(2030, 0, 15, 3)
const record = (more: Partial<ExecutionRecord> = {}) =>
  ({
    ...{ executionId: 'e', jobId: 'j', tenant: 'acme', pool: 'email', lane: 2, handler: 'send', state: 'PENDING' },
    ...{ attempt: 0, reason: null, error: null, finishedAt: null, ...more },
  }) as ExecutionRecord

const free: ServingWorker = { workerId: 'w', name: 'w1', seenAt: now, slots: 5, knowsHandler: true, running: 0 }

function explain(more: Partial<Placement> = {}, around: Partial<Surroundings> = {}, of: Partial<ExecutionRecord> = {}) {
  const placement: Placement = {
    ...{ jobState: null, overlap: null, poolPaused: false, backAt: null, waits: false, holders: [], queued: true },
    ...{ lease: null, blocked: null, ...more },
  }
  const nothing = { placement, workers: [free], ahead: { lane: 0, above: 0 }, now, suspectMs: 15_000 }
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

  it('a retry that is not due', () => {
    const { summary } = explain({ backAt: now + 5_000 }, {}, { state: 'TIMED_OUT', attempt: 1 })
    expect(summary).toBe(
      'Not running: attempt 1 took too long; it is not due until 2030-01-15T03:00:05.000Z (wait, or fix the cause).',
    )
    expect(codes(explain({ backAt: now + 5_000 }))).toEqual(['HANDED_BACK'])
    expect(codes(explain({ backAt: now - 5 }))).toEqual(['READY'])
  })

  it('a step waits for others, or for its run', () => {
    const waits = { remaining: 2, total: 3, steps: ['load', 'check'], held: false, runPaused: false }
    const { summary } = explain({ blocked: waits, queued: false }, {}, { state: 'BLOCKED' })
    expect(summary).toBe(
      'Not running: it waits for load, check: 1 of the 3 steps it depends on have ended (explain those).',
    )
    const ofRun = (more: object) => codes(explain({ blocked: { ...waits, remaining: 0, ...more } }))
    expect(ofRun({ held: true, runPaused: true })).toEqual(['RUN_PAUSED'])
    expect(ofRun({ held: true })).toEqual(['HELD_BACK'])
    expect(ofRun({})).toEqual(['READY'])
    expect(codes(explain({ blocked: { ...waits, runPaused: true } }))).toEqual(['WAITS_FOR_STEPS', 'RUN_PAUSED'])
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

  it('it runs: who has it, and whether that one is heard of', () => {
    const lease = { workerId: 'w', worker: 'w1', leasedAt: now - 60_000, seenAt: now, cancelAt: null, run: null }
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
    expect(explainEnded(dead).summary).toContain('as DEAD (ATTEMPTS_EXHAUSTED, TypeError: no), after 4 attempts')
    const coming = { due: now, paused: true, pool: 'email', handler: 'send' }
    expect(codes(explainToCome('e', coming))).toEqual(['JOB_PAUSED', 'NOT_DUE'])
  })
})
