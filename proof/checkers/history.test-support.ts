/** Small histories, written by hand: an ordinary life of a job, to be changed where a test wants it to be wrong. */
import type { DagRunRow, DagStepRow, History, JobSpan, LedgerRow, LedgerTransition, Run } from '../history.ts'

/** Some instant. All times of these histories are small numbers after it. */
export const t0 = Date.UTC(2026, 0, 1)

/** Two occurrences of a job that ran well, one after the other, and a submission that was acknowledged. */
export function goodHistory(change: Partial<History> = {}): History {
  const lives = [occurrence(1), occurrence(2), submission('s1', 1_200)]
  return {
    from: t0,
    to: t0 + 60_000,
    executions: lives.map(({ row }) => row),
    dagRuns: [],
    signals: [],
    followers: [],
    runs: lives.flatMap(({ runs }) => runs),
    spans: [span()],
    acknowledged: [{ executionId: 's1', at: t0 + 1_210 }],
    leases: null,
    silenced: [],
    troubles: [],
    recoveryMs: 0,
    slackMs: 0,
    bounds: { fireMs: 1_000, startMs: 2_000, lostMs: 35_000 },
    ...change,
  }
}

export interface Life {
  row: LedgerRow
  runs: Run[]
}

/** The n-th occurrence of a one-second job: fired after 5 ms, begun after 10, over after 300. */
export function occurrence(n: number, change: Partial<LedgerRow> = {}): Life {
  const nominal = t0 + n * 1_000
  const row: LedgerRow = {
    executionId: `e${n}`,
    jobId: 'j',
    jobVersion: 1,
    tenant: 'acme',
    handler: 'beat',
    origin: 'SCHEDULE',
    scheduledFor: nominal,
    dueAt: nominal,
    firedAt: nominal + 5,
    state: 'SUCCEEDED',
    reason: null,
    attempt: 1,
    maxAttempts: 3,
    delivery: 'AT_LEAST_ONCE',
    limits: [],
    startedAt: nominal + 10,
    finishedAt: nominal + 300,
    fence: n * 10,
    skippedLast: null,
    skippedCount: null,
    payload: null,
    result: null,
    error: null,
    transitions: [],
    ...change,
  }
  const { executionId, fence } = row
  if (fence === null) return { row, runs: [] }
  const runs = [
    run({ executionId, fence, at: nominal + 10 }),
    run({ executionId, fence, at: nominal + 290, what: 'SUCCEEDED' }),
  ]
  return { row, runs }
}

export function submission(executionId: string, at: number): Life {
  const due = t0 + at
  const { row } = occurrence(7, { executionId, jobId: executionId, jobVersion: null, origin: 'SUBMIT', fence: 77 })
  return {
    row: { ...row, scheduledFor: due, dueAt: due, firedAt: due + 1, startedAt: due + 4, finishedAt: due + 9 },
    runs: [
      run({ executionId, fence: 77, at: due + 4 }),
      run({ executionId, fence: 77, at: due + 8, what: 'SUCCEEDED' }),
    ],
  }
}

/** The first occurrence, lost with its worker and run again by another; `late`: the lost one went on, and was refused. */
export function secondTry(late: Partial<Run>[] = []): Life {
  const { row } = occurrence(1, {
    attempt: 2,
    fence: 20,
    startedAt: t0 + 9_000,
    finishedAt: t0 + 9_100,
    transitions: [transition({ at: t0 + 8_000, to: 'WORKER_LOST', fence: 10 })],
  })
  const runs = [
    run({ fence: 10, at: t0 + 1_010 }),
    run({ fence: 20, attempt: 2, worker: 'w2', at: t0 + 9_000 }),
    run({ fence: 20, attempt: 2, worker: 'w2', at: t0 + 9_090, what: 'SUCCEEDED' }),
    ...late.map((change) => run({ fence: 10, ...change })),
  ]
  return { row, runs }
}

export function run(change: Partial<Run>): Run {
  return { worker: 'w1', what: 'BEGAN', executionId: 'e1', fence: 10, attempt: 1, at: t0, ...change }
}

/** A run that ended well after 50 ms. */
export function wholeRun(change: Partial<Run> & { at: number }): Run[] {
  return [run(change), run({ ...change, what: 'SUCCEEDED', at: change.at + 50 })]
}

export function transition(change: Partial<LedgerTransition>): LedgerTransition {
  return { at: t0, to: 'FAILED', reason: null, fence: null, after: null, ...change }
}

export function span(change: Partial<JobSpan> = {}): JobSpan {
  return { jobId: 'j', version: 1, state: 'ACTIVE', overlap: 'ALLOW', since: t0, until: null, ...change }
}

/** A history of these lives alone. */
export function historyOf(lives: Life[], change: Partial<History> = {}): History {
  const executions = lives.map(({ row }) => row)
  const runs = lives.flatMap((life) => life.runs)
  return goodHistory({ executions, runs, acknowledged: [], ...change })
}

/** A run of two steps, of which the second depends on the first: both ran well, one after the other. */
export function chain(change: Partial<DagRunRow> = {}): { run: DagRunRow; first: Life; second: Life } {
  const [first, second] = [1, 2].map((n) => step(n)) as [Life, Life]
  first.runs[0]!.given = { payload: 'p', results: {}, states: {} }
  first.runs[1]!.result = 'one'
  second.runs[0]!.given = { payload: 'p', results: { a: 'one' }, states: { a: 'SUCCEEDED' } }
  const steps = [askedStep('e1', { name: 'a' }), askedStep('e2', { name: 'b', dependsOn: ['a'] })]
  const ended = {
    state: 'SUCCEEDED',
    reason: null,
    cancelReason: null,
    failedCount: 0,
    finishedAt: t0 + 2_310,
  } as const
  return { run: { runId: 'r', ...plainRun, payload: 'p', steps, ...ended, ...change }, first, second }
}

/** Of a run that nothing but a client has started. */
export const plainRun = { createdAt: t0, startedBy: null, fanOut: false, concurrency: null, maxFailures: 0 } as const

export function askedStep(executionId: string, change: Partial<DagStepRow> = {}): DagStepRow {
  return {
    ...{ executionId, name: executionId, dependsOn: [], runIf: 'ALL_SUCCEEDED', when: null, allowFailure: false },
    ...{ waitFor: null, timeoutSec: null, forEach: null },
    ...change,
  }
}

function step(n: number): Life {
  return occurrence(n, { jobId: 'r', jobVersion: null, origin: 'DAG', scheduledFor: t0, firedAt: t0 })
}

/** A history of that run alone. */
export function chainHistory({ run, first, second }: ReturnType<typeof chain>): History {
  return historyOf([first, second], { dagRuns: [run] })
}
