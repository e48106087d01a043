/** Runs of graphs, and jobs after others, that are wrong: one of each kind. More of them: steps.test.ts, runs.test.ts. */
import type { Follower, History, JobSpan, LedgerRow } from '../history.ts'
import { chain, chainHistory, historyOf, type Life, occurrence, t0, transition } from './history.test-support.ts'
import { fanOut, historyOfMade, inner, type Made, signalled } from './runs.test-support.ts'

const deletedSpan: JobSpan = {
  ...{ jobId: 'j', version: 1, state: 'DELETED', overlap: 'ALLOW' },
  ...{ since: t0 - 60_000, until: null },
}

/** What is wrong, and the checkers that must say so. */
export const wrongRuns: [string, string[], History][] = [
  [
    'a step before what it depends on',
    ['steps-wait'],
    stepHistory(({ first }) => void Object.assign(first.row, { finishedAt: t0 + 2_200 })),
  ],
  [
    'a step of another run',
    ['steps-are-given-results'],
    stepHistory(({ run }) => void Object.assign(run, { payload: 'q' })),
  ],
  [
    'a step leased after its success',
    ['steps-succeed-once'],
    { ...stepHistory(), leases: [{ executionId: 'e1', fence: 11, workerId: 'w1', at: t0 + 9_000, until: null }] },
  ],
  [
    'a run that did not end',
    ['runs-follow-their-steps'],
    stepHistory(({ run }) => void Object.assign(run, { state: 'RUNNING' })),
  ],
  [
    'an item with the result of another',
    ['fan-outs-are-complete', 'runs-end-their-executions'],
    madeHistory(fanOut(), ({ load }) => ({ ...load!.row, result: ['X', null, 'X'] })),
  ],
  [
    'more items at once than there are slots',
    ['slots-are-kept'],
    madeHistory(fanOut(), ({ 'load.2': item }) => ({ ...item!.row, dueAt: t0 + 3_100 })),
  ],
  [
    'a step with a result of its own',
    ['runs-end-their-executions'],
    madeHistory(inner(), ({ part }) => ({ ...part!.row, result: {} })),
  ],
  [
    'a step with the payload of a refused signal',
    ['signals-end-steps'],
    madeHistory(signalled(), ({ approve }) => ({ ...approve!.row, result: 'too early' })),
  ],
  ['an end that is not followed', ['ends-are-followed'], followed([])],
  ['an end that is followed twice', ['ends-are-followed'], followed([following(2, 'e1'), following(3, 'e1')])],
  ['an end of another job that is followed', ['ends-are-followed'], followed([following(2, 'e1'), following(3, 'x')])],
  [
    'an end that is followed though it is not as asked for',
    ['ends-are-followed'],
    followed([following(2, 'e1')], { on: 'FAILED' }),
  ],
  [
    'an end that is followed though its job was deleted long before',
    ['ends-are-followed', 'fires-from-the-current-version'],
    { ...followed([following(2, 'e1')]), spans: [deletedSpan] },
  ],
]

function madeHistory(made: Made, change: (lives: Made['lives']) => LedgerRow): History {
  const row = change(made.lives)
  made.lives[row.executionId]!.row = row
  return historyOfMade(made)
}

export function following(n: number, after: string): Life {
  const transitions = [transition({ at: t0 + n * 1_000, to: 'PENDING', after })]
  return occurrence(n, { jobId: 'f', origin: 'TRIGGER', transitions })
}

/** The job `f` follows the only execution of `j`. */
export function followed(lives: Life[], change: Partial<Follower> = {}): History {
  const follower: Follower = { jobId: 'f', followed: 'j', on: 'ENDED', since: t0 - 60_000, ...change }
  return historyOf([occurrence(1), ...lives], { followers: [follower] })
}

function stepHistory(change: (made: ReturnType<typeof chain>) => void = () => {}): History {
  const made = chain()
  change(made)
  return chainHistory(made)
}
