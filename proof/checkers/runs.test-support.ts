/** Small runs of every kind that worked as they should, to be changed where a test wants them to be wrong. */
import type { DagRunRow, DagStepRow, History, LedgerRow, Run, Signal } from '../history.ts'
import { askedStep, historyOf, type Life, occurrence, plainRun, t0, transition } from './history.test-support.ts'

export interface Made {
  runs: DagRunRow[]
  /** By the names of the steps. */
  lives: Record<string, Life>
  signals: Signal[]
}

const good = { state: 'SUCCEEDED', reason: null, cancelReason: null, failedCount: 0 } as const

/** One step finds three items, the other runs over them, two at once; one fails, which it may. */
export function fanOut(): Made {
  const found = { items: ['x', 'y', 'z'] }
  const find = worked({ n: 1, id: 'find', runId: 'outer', result: found })
  const load = stands({ n: 2, id: 'load', runId: 'outer', until: t0 + 4_400, result: ['X', null, 'Z'] })
  const items = ['x', 'y', 'z'].map((payload, i) =>
    worked({
      n: i < 2 ? 3 : 4,
      id: `load.${i}`,
      runId: 'items',
      fence: 100 + i,
      result: payload.toUpperCase(),
      payload,
    }),
  ) as [Life, Life, Life]
  Object.assign(items[1].row, { state: 'DEAD', reason: 'ATTEMPTS_USED_UP', maxAttempts: 1, result: null })
  items[1].row.transitions = [transition({ at: items[1].row.finishedAt!, to: 'FAILED', fence: 101 })]
  items[1].runs[1] = { ...items[1].runs[1]!, what: 'FAILED', result: undefined }
  const steps = [askedStep('find'), askedStep('load', { dependsOn: ['find'], forEach: 'results.find.items' })]
  const ofItems = ['load.0', 'load.1', 'load.2'].map((name) => askedStep(name))
  return {
    runs: [
      outerRun(steps, t0 + 4_410),
      {
        ...{ runId: 'items', ...plainRun, createdAt: t0 + 2_005, startedBy: 'load', fanOut: true, steps: ofItems },
        ...{ concurrency: 2, maxFailures: 1, payload: 'p', ...good, failedCount: 1, finishedAt: t0 + 4_410 },
      },
    ],
    lives: { find, load, 'load.0': items[0], 'load.1': items[1], 'load.2': items[2] },
    signals: [],
  }
}

/** A step that runs a graph of two steps, of which the second one comes last. */
export function inner(): Made {
  const first = worked({ n: 2, id: 'first', runId: 'inner', result: 1, payload: null, given: { payload: 'q' } })
  const given = { payload: 'q', results: { first: 1 }, states: { first: 'SUCCEEDED' } }
  const second = worked({ n: 3, id: 'second', runId: 'inner', result: 2, given })
  const part = stands({ n: 1, id: 'part', runId: 'outer', until: t0 + 3_400, result: { second: 2 } })
  const steps = [askedStep('first'), askedStep('second', { dependsOn: ['first'] })]
  const started = { ...plainRun, createdAt: t0 + 1_005, startedBy: 'part', payload: 'q', steps }
  return {
    runs: [outerRun([askedStep('part')], t0 + 3_410), { runId: 'inner', ...started, ...good, finishedAt: t0 + 3_410 }],
    lives: { part, first, second },
    signals: [],
  }
}

/** A step that was signalled after a refused attempt. */
export function signalled(): Made {
  const approve = stands({ n: 1, id: 'approve', runId: 'outer', until: t0 + 2_000, result: { ok: true } })
  approve.row.handler = 'carillon.signal'
  const signal = (at: number, payload: unknown, answer: Signal['answer']) => ({
    ...{ executionId: 'approve', at, payload, answer },
  })
  return {
    runs: [outerRun([askedStep('approve', { waitFor: 'SIGNAL', timeoutSec: 60 })], t0 + 2_010)],
    lives: { approve },
    signals: [signal(t0 + 900, 'too early', 'REFUSED'), signal(t0 + 1_990, { ok: true }, 'ACCEPTED')],
  }
}

export function historyOfMade({ runs, lives, signals }: Made): History {
  return historyOf(Object.values(lives), { dagRuns: runs, signals })
}

function outerRun(steps: DagStepRow[], finishedAt: number): DagRunRow {
  return { runId: 'outer', ...plainRun, payload: 'p', steps, ...good, finishedAt }
}

interface Worked {
  n: number
  id: string
  runId: string
  fence?: number
  payload?: unknown
  result: unknown
  given?: Partial<Run['given']>
}

function worked({ n, id, runId, fence = n * 10, payload = null, result, given = {} }: Worked): Life {
  const life = occurrence(n, { ...ofRun(runId), executionId: id, fence, payload, result })
  life.runs[0]!.given = { payload: 'p', results: {}, states: {}, ...given }
  life.runs[1]!.result = result
  return life
}

/** Without a worker. */
function stands({ n, id, runId, until, result }: Omit<Worked, 'fence'> & { until: number }): Life {
  const transitions = [transition({ at: t0 + n * 1_000 + 10, to: 'DEFERRED', fence: n * 10 })]
  const more = { executionId: id, handler: 'carillon.dag', finishedAt: until, result, transitions }
  return { row: occurrence(n, { ...ofRun(runId), ...more }).row, runs: [] }
}

function ofRun(jobId: string): Partial<LedgerRow> {
  return { jobId, jobVersion: null, origin: 'DAG', scheduledFor: t0, firedAt: t0 }
}
