import { describe, expect, it } from 'vitest'
import type { History, LedgerRow } from '../history.ts'
import {
  goodHistory,
  historyOf,
  type Life,
  occurrence,
  run,
  secondTry,
  span,
  t0,
  transition,
  wholeRun,
} from './history.test-support.ts'
import { checkers, judge } from './index.ts'
import { followed, following, wrongRuns } from './wrong-runs.test-support.ts'

/** One occurrence whose row is changed and whose runs stay. */
function changed(change: Partial<LedgerRow>): Life {
  return { row: occurrence(1, change).row, runs: occurrence(1).runs }
}

function row(change: Partial<LedgerRow>): Life {
  return { row: occurrence(1, change).row, runs: [] }
}

const skipped = { state: 'SKIPPED', fence: null, startedAt: null, attempt: 0, finishedAt: t0 + 1_005 } as const

describe('a good history', () => {
  it.each<[string, History]>([
    ['an ordinary life', goodHistory()],
    ['a second try after a lost worker', historyOf([secondTry()])],
    ['a lost worker that went on and was refused', historyOf([secondTry([{ what: 'SUCCEEDED', at: t0 + 12_000 }])])],
    [
      'a worker that was stopped before it began, and began too late',
      historyOf([{ ...secondTry(), runs: [...secondTry().runs.slice(1), run({ fence: 10, at: t0 + 12_000 })] }], {
        troubles: [{ kind: 'worker paused', from: t0 + 1_000, to: t0 + 12_000 }],
      }),
    ],
    [
      'two under a limit of one, one after the other',
      historyOf([1, 2].map((n) => occurrence(n, { limits: [{ key: 'limit:1:a', concurrency: 1 }] }))),
    ],
    ['a skip with a reason', historyOf([occurrence(1, { ...skipped, reason: 'OVERLAP' })])],
    [
      'a row that stands for three skips',
      historyOf([occurrence(1, { ...skipped, reason: 'MISFIRED', skippedCount: 3, skippedLast: t0 + 3_000 })]),
    ],
    [
      'an occurrence removed before it was due',
      historyOf([occurrence(1, { ...skipped, reason: 'EDITED', dueAt: t0 + 2_000, firedAt: t0 + 1_500 })]),
    ],
    [
      'an occurrence skipped before it was due, and filled later',
      historyOf([
        occurrence(1, {
          ...{ origin: 'BACKFILL', dueAt: t0 + 1_100, finishedAt: t0 + 1_400 },
          transitions: [
            transition({ at: t0 + 1_005, to: 'SKIPPED', reason: 'PAUSED' }),
            transition({ at: t0 + 1_008, to: 'PENDING', reason: 'BACKFILLED' }),
          ],
        }),
      ]),
    ],
    [
      'late because of a trouble',
      historyOf(
        [
          {
            row: occurrence(1, { firedAt: t0 + 10_005, finishedAt: t0 + 11_060 }).row,
            runs: wholeRun({ at: t0 + 11_000 }),
          },
        ],
        {
          troubles: [{ kind: 'node killed', from: t0 + 500, to: t0 + 8_000 }],
          recoveryMs: 2_000,
        },
      ),
    ],
    [
      'a dead letter replayed by a person',
      historyOf([
        {
          row: occurrence(1, {
            maxAttempts: 1,
            fence: 20,
            finishedAt: t0 + 5_300,
            transitions: [
              transition({ at: t0 + 1_300, to: 'FAILED', reason: 'ATTEMPTS_USED_UP', fence: 10 }),
              transition({ at: t0 + 5_000, to: 'PENDING', reason: 'REPLAYED' }),
            ],
          }).row,
          runs: [run({ fence: 10, at: t0 + 1_010 }), ...wholeRun({ fence: 20, at: t0 + 5_010 })],
        },
      ]),
    ],
    [
      'a version replaced while a FIRE had the row',
      historyOf([occurrence(1)], {
        spans: [span({ until: t0 + 1_001 }), span({ version: 2, since: t0 + 1_001 })],
      }),
    ],
  ])('%s', (_, history) => {
    expect(judge(history)).toEqual([])
  })

  it('an end that is followed once', () => {
    expect(judge(followed([following(2, 'e1')]))).toEqual([])
  })
})

/** What is wrong, and the checkers that must say so; no other may. */
const wrong: [string, string[], History][] = [
  ['a submission is gone', ['acknowledged-is-kept'], goodHistory({ acknowledged: [{ executionId: 'x', at: t0 }] })],
  [
    'an occurrence has two rows',
    ['succeeds-once'],
    historyOf([
      occurrence(1),
      {
        row: occurrence(1, { executionId: 'x', fence: 11 }).row,
        runs: wholeRun({ executionId: 'x', fence: 11, at: t0 + 1_010 }),
      },
    ]),
  ],
  [
    'two successes were accepted',
    ['succeeds-once', 'one-lease-at-a-time', 'attempts-within-maximum'],
    historyOf([
      {
        row: { ...secondTry().row, transitions: [] },
        runs: [...secondTry().runs, run({ fence: 10, what: 'SUCCEEDED', at: t0 + 1_200 })],
      },
    ]),
  ],
  [
    'a success was overwritten by a cancel',
    ['succeeds-once', 'attempts-within-maximum'],
    historyOf([changed({ state: 'CANCELLED', reason: 'CANCELLED' })]),
  ],
  ['a success that nobody ran', ['success-was-run'], historyOf([row({})])],
  ['a success before its run came to its end', ['success-was-run'], historyOf([changed({ finishedAt: t0 + 1_200 })])],
  ['a success under a fence nobody had', ['success-was-run', 'succeeds-once'], historyOf([changed({ fence: 11 })])],
  [
    'run to its end, and taken back as never named',
    ['what-ran-is-not-handed-back'],
    historyOf(
      [
        {
          row: {
            ...secondTry().row,
            attempt: 1,
            transitions: [transition({ at: t0 + 8_000, to: 'HANDED_BACK', reason: 'NOT_NAMED', fence: 10 })],
          },
          runs: [...secondTry().runs, run({ fence: 10, what: 'SUCCEEDED', at: t0 + 1_200 })],
        },
      ],
      { leases: [{ executionId: 'e1', fence: 10, workerId: 'w1', at: t0 + 1_006, until: t0 + 8_000 }] },
    ),
  ],
  [
    'at most once, begun twice',
    ['at-most-once-starts-once'],
    historyOf([{ ...secondTry(), row: { ...secondTry().row, delivery: 'AT_MOST_ONCE' } }]),
  ],
  [
    'begun again before the first lease ended',
    ['one-lease-at-a-time'],
    historyOf([
      {
        ...secondTry(),
        row: { ...secondTry().row, transitions: [transition({ at: t0 + 9_001, to: 'WORKER_LOST', fence: 10 })] },
      },
    ]),
  ],
  [
    'two leases at once, seen as such',
    ['one-lease-at-a-time'],
    historyOf([occurrence(1)], {
      leases: [
        { executionId: 'e1', fence: 10, workerId: 'w1', at: t0, until: t0 + 2 },
        { executionId: 'e1', fence: 11, workerId: 'w2', at: t0 + 1, until: t0 + 3 },
      ],
    }),
  ],
  [
    'begun twice under one lease',
    ['one-lease-at-a-time'],
    historyOf([{ row: occurrence(1).row, runs: [...occurrence(1).runs, run({ worker: 'w2', at: t0 + 1_020 })] }]),
  ],
  [
    'a fence of two executions',
    ['fences-only-grow'],
    historyOf([
      occurrence(1),
      { row: occurrence(2, { fence: 10 }).row, runs: wholeRun({ executionId: 'e2', fence: 10, at: t0 + 2_010 }) },
    ]),
  ],
  [
    'a smaller fence after a larger one',
    ['fences-only-grow'],
    historyOf([
      row({
        state: 'DEAD',
        reason: 'NOT_RETRYABLE',
        fence: 5,
        attempt: 2,
        transitions: [transition({ at: t0 + 1_100, fence: 10 }), transition({ at: t0 + 1_300, fence: 5 })],
      }),
    ]),
  ],
  [
    'tried too often',
    ['attempts-within-maximum'],
    historyOf([{ ...secondTry(), row: { ...secondTry().row, maxAttempts: 1 } }]),
  ],
  [
    'given up too soon',
    ['attempts-within-maximum'],
    historyOf([
      row({ state: 'DEAD', reason: 'ATTEMPTS_USED_UP', transitions: [transition({ at: t0 + 1_300, fence: 10 })] }),
    ]),
  ],
  [
    'an attempt that was not counted',
    ['attempts-within-maximum'],
    historyOf([{ ...secondTry(), row: { ...secondTry().row, attempt: 1 } }]),
  ],
  ...(['FORBID', 'QUEUE_ONE', 'REPLACE'] as const).map((overlap): [string, string[], History] => [
    `${overlap} overlaps`,
    ['forbid-never-overlaps'],
    historyOf([{ ...occurrence(1), row: occurrence(1, { finishedAt: t0 + 2_011 }).row }, occurrence(2)], {
      spans: [span({ overlap })],
    }),
  ]),
  [
    'a limit is exceeded',
    ['limits-are-kept'],
    historyOf([
      changed({ limits: [{ key: 'limit:1:a', concurrency: 1 }], finishedAt: t0 + 2_011 }),
      occurrence(2, { limits: [{ key: 'limit:1:a', concurrency: 1 }] }),
    ]),
  ],
  [
    'a retry overlaps',
    ['forbid-never-overlaps'],
    historyOf([secondTry(), occurrence(2, { fence: 30 })], { spans: [span({ overlap: 'FORBID' })] }),
  ],
  [
    'a replaced version fires',
    ['fires-from-the-current-version'],
    historyOf([occurrence(9)], { spans: [span({ until: t0 + 5_000 }), span({ version: 2, since: t0 + 5_000 })] }),
  ],
  [
    'a version fires before it is there',
    ['fires-from-the-current-version'],
    historyOf([occurrence(1, { jobVersion: 2 })], {
      spans: [span({ until: t0 + 1_006 }), span({ version: 2, since: t0 + 1_006 })],
    }),
  ],
  [
    'a paused job fires',
    ['fires-from-the-current-version'],
    historyOf([occurrence(9)], { spans: [span({ until: t0 + 5_000 }), span({ state: 'PAUSED', since: t0 + 5_000 })] }),
  ],
  ['fired early', ['never-early'], historyOf([changed({ firedAt: t0 + 999 })])],
  ['started early by the ledger', ['never-early'], historyOf([changed({ startedAt: t0 + 999 })])],
  [
    'started early by the worker',
    ['never-early'],
    historyOf([{ row: occurrence(1).row, runs: wholeRun({ at: t0 + 999 }) }]),
  ],
  ['a skip without a reason', ['skips-have-reasons'], historyOf([occurrence(1, { ...skipped })])],
  [
    'a skip for several, and up to nowhere',
    ['skips-have-reasons'],
    historyOf([occurrence(1, { ...skipped, reason: 'PAUSED', skippedCount: 4 })]),
  ],
  [
    'forgotten after a trouble',
    ['nobody-starves'],
    historyOf([{ row: occurrence(1, { finishedAt: t0 + 20_000 }).row, runs: wholeRun({ at: t0 + 19_000 }) }], {
      troubles: [{ kind: 'node killed', from: t0, to: t0 + 3_000 }],
    }),
  ],
  [
    'never started',
    ['nobody-starves', 'everything-ends'],
    historyOf([row({ state: 'PENDING', fence: null, attempt: 0, startedAt: null, finishedAt: null })]),
  ],
  [
    'late though nothing was wrong',
    ['lateness-while-healthy'],
    historyOf([
      { row: occurrence(1, { firedAt: t0 + 2_500, finishedAt: t0 + 2_700 }).row, runs: wholeRun({ at: t0 + 2_600 }) },
    ]),
  ],
  [
    'started late though nothing was wrong',
    ['lateness-while-healthy', 'nobody-starves'],
    historyOf([{ row: occurrence(1, { finishedAt: t0 + 4_000 }).row, runs: wholeRun({ at: t0 + 3_900 }) }]),
  ],
  [
    'held for long by a worker that is gone',
    ['lost-is-noticed'],
    goodHistory({
      silenced: [{ workerId: 'gone', at: t0 }],
      leases: [
        { executionId: 'e1', fence: 10, workerId: 'gone', at: t0 - 5, until: t0 + 35_001 },
        { executionId: 'e2', fence: 20, workerId: 'gone', at: t0 - 5, until: t0 + 34_000 },
      ],
    }),
  ],
  [
    'never ended',
    ['everything-ends'],
    historyOf([
      {
        row: occurrence(1, { state: 'RUNNING', finishedAt: null, attempt: 0, fence: null }).row,
        runs: [run({ at: t0 + 1_010 })],
      },
    ]),
  ],
  ...wrongRuns,
]

describe('a history that is not good', () => {
  it.each(wrong)('%s', (_, names, history) => {
    expect([...new Set(judge(history).map(({ checker }) => checker))].sort()).toEqual([...names].sort())
  })

  it('is found by every checker at least once', () => {
    const named = new Set(wrong.flatMap(([, names]) => names))
    expect(checkers.map(({ name }) => name).filter((name) => !named.has(name))).toEqual([])
  })

  it('says what is wrong with what', () => {
    const violations = judge(goodHistory({ acknowledged: [{ executionId: 'x', at: 5 }] }))
    const problem = 'was acknowledged at 5 and is not in the ledger'
    expect(violations).toEqual([{ checker: 'acknowledged-is-kept', subject: 'x', problem }])
  })
})
