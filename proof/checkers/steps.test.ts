import { describe, expect, it } from 'vitest'
import { chain, chainHistory, run, t0, transition } from './history.test-support.ts'
import { judge } from './index.ts'

type Chain = ReturnType<typeof chain>

const failed = { state: 'DEAD', reason: 'ATTEMPTS_EXHAUSTED', maxAttempts: 1 } as const
const skipped = { state: 'SKIPPED', fence: null, startedAt: null, attempt: 0 } as const
const failedRun = { state: 'FAILED', reason: 'STEP_FAILED', failedCount: 1 } as const

/** The first step fails, and the second is skipped because of it. */
function failure(): Chain {
  const made = chain(failedRun)
  Object.assign(made.first.row, failed, {
    transitions: [transition({ at: made.first.row.finishedAt!, to: 'FAILED', fence: 10 })],
  })
  made.first.runs[1]!.what = 'FAILED'
  Object.assign(made.second.row, skipped, { reason: 'DEPENDENCY_FAILED' })
  made.second.runs = []
  return made
}

/** After a failure the run was retried, and all went well. */
function retried(): Chain {
  const made = chain()
  made.first.row.transitions = [
    transition({ at: t0 + 20, to: 'FAILED', fence: 5 }),
    transition({ at: t0 + 100, to: 'BLOCKED', reason: 'REPLAYED' }),
  ]
  made.second.row.transitions = [
    transition({ at: t0 + 30, to: 'SKIPPED', reason: 'DEPENDENCY_FAILED' }),
    transition({ at: t0 + 100, to: 'BLOCKED', reason: 'REPLAYED' }),
  ]
  const given = { payload: 'p', results: {}, states: {} }
  made.first.runs = [
    run({ fence: 5, at: t0 + 5, given }),
    run({ fence: 5, at: t0 + 15, what: 'FAILED' }),
    ...made.first.runs,
  ]
  return made
}

function changed(make: () => Chain, change: (made: Chain) => void): Chain {
  const made = make()
  change(made)
  return made
}

describe('nothing is wrong with', () => {
  it.each([
    ['two steps, one after the other', chain()],
    ['a failure, and a skip because of it', failure()],
    ['a run that was retried', retried()],
    [
      'a failure that is allowed, and a step that runs nevertheless',
      changed(failure, ({ run, first, second }) => {
        Object.assign(run, { state: 'SUCCEEDED', reason: null, failedCount: 0 })
        run.steps[0]!.allowFailure = true
        run.steps[1]!.runIf = 'ANY_FAILED'
        Object.assign(second, chain().second)
        second.runs[0]!.given = { payload: 'p', results: { a: null }, states: { a: 'DEAD' } }
        expect(first.row.state).toBe('DEAD')
      }),
    ],
    [
      'a run that was cancelled before its second step',
      changed(chain, ({ run, second }) => {
        const cancelled = {
          state: 'CANCELLED',
          reason: 'CANCELLED',
          cancelReason: 'RUN_CANCELLED',
          failedCount: 1,
        } as const
        Object.assign(run, cancelled)
        Object.assign(second.row, skipped, { state: 'CANCELLED', reason: 'RUN_CANCELLED' })
        second.runs = []
      }),
    ],
  ])('%s', (_, made) => {
    expect(judge(chainHistory(made))).toEqual([])
  })
})

describe('found is', () => {
  it.each<[string, string, Chain]>([
    [
      'a step that began too early',
      'steps-wait',
      changed(chain, ({ second }) => void Object.assign(second.runs[0]!, { at: t0 + 1_200 })),
    ],
    [
      'a step that began while what it depends on was being retried',
      'steps-wait',
      changed(retried, ({ second }) => void Object.assign(second.runs[0]!, { at: t0 + 200 })),
    ],
    [
      'a result of another run',
      'steps-are-given-results',
      changed(chain, ({ second }) => void Object.assign(second.runs[0]!.given!, { results: { a: 'two' } })),
    ],
    [
      'a result too many',
      'steps-are-given-results',
      changed(chain, ({ second }) => void Object.assign(second.runs[0]!.given!, { results: { a: 'one', c: 1 } })),
    ],
    [
      'a state that is not so',
      'steps-are-given-results',
      changed(chain, ({ second }) => void Object.assign(second.runs[0]!.given!, { states: { a: 'DEAD' } })),
    ],
    [
      'a step that was told nothing',
      'steps-are-given-results',
      changed(chain, ({ second }) => void Object.assign(second.runs[0]!, { given: undefined })),
    ],
    [
      'a step that was begun again after its success',
      'steps-succeed-once',
      changed(chain, ({ first }) => void first.runs.push(run({ fence: 11, at: t0 + 5_000 }))),
    ],
    ['a run that goes on', 'runs-follow-their-steps', chain({ state: 'RUNNING', finishedAt: null })],
    ['a run that says otherwise', 'runs-follow-their-steps', chain(failedRun)],
    ['a run that ended before its steps', 'runs-follow-their-steps', chain({ finishedAt: t0 + 2_299 })],
    [
      'a run without one of its steps',
      'runs-follow-their-steps',
      changed(
        chain,
        ({ run, second }) => void run.steps.push({ ...run.steps[1]!, executionId: `${second.row.executionId}0` }),
      ),
    ],
    [
      'a failure that is not counted',
      'runs-follow-their-steps',
      changed(failure, ({ run }) => void Object.assign(run, { state: 'SUCCEEDED', reason: null, failedCount: 0 })),
    ],
    [
      'a step that ran although it should not have',
      'runs-follow-their-steps',
      changed(failure, ({ second }) => void Object.assign(second, chain().second)),
    ],
    [
      'a step that was skipped although it should have run',
      'runs-follow-their-steps',
      changed(failure, ({ run }) => void Object.assign(run.steps[1]!, { runIf: 'ALL_DONE' })),
    ],
    [
      'a run that was answered and is not there',
      'acknowledged-is-kept',
      changed(chain, ({ run }) => void Object.assign(run, { runId: 'another' })),
    ],
  ])('%s', (_, checker, made) => {
    const history = { ...chainHistory(made), acknowledged: [{ executionId: 'r', at: t0 }] }
    expect(judge(history).map((violation) => violation.checker)).toContain(checker)
  })
})
