import { describe, expect, it } from 'vitest'
import { historyOf, occurrence, t0, transition } from './history.test-support.ts'
import { judge } from './index.ts'
import { fanOut, historyOfMade, inner, type Made, signalled } from './runs.test-support.ts'

function changed(make: () => Made, change: (made: Made) => void): Made {
  const made = make()
  change(made)
  return made
}

/** The step, and with it the run, is DEAD after its time. */
function timedOut(made: Made, afterMs: number): void {
  const { row } = made.lives.approve!
  const finishedAt = t0 + 1_010 + afterMs
  Object.assign(row, { state: 'DEAD', reason: 'ATTEMPTS_USED_UP', maxAttempts: 1, result: null, finishedAt })
  row.transitions.push(transition({ at: finishedAt, to: 'TIMED_OUT', fence: 10 }))
  Object.assign(made.runs[0]!, { state: 'FAILED', reason: 'STEP_FAILED', failedCount: 1, finishedAt })
  made.signals.pop()
}

function withCondition(when: string): Made {
  return changed(inner, ({ runs }) => {
    runs[1]!.steps[1]!.when = when
  })
}

/** Its second step was skipped for that reason; it failed if that is a failure. */
function skipped(when: string, reason: string): Made {
  return changed(
    () => withCondition(when),
    (made) => {
      const { part, second } = made.lives
      const gone = { state: 'SKIPPED', fence: null, startedAt: null, attempt: 0, result: null, reason } as const
      Object.assign(second!.row, gone)
      second!.runs = []
      if (reason === 'CONDITION_FALSE') {
        part!.row.result = { second: null }
        return
      }
      Object.assign(part!.row, { state: 'DEAD', reason: 'ATTEMPTS_USED_UP', maxAttempts: 1, result: null })
      part!.row.error = 'RunFailed'
      part!.row.transitions.push(transition({ at: part!.row.finishedAt!, to: 'FAILED', fence: 10 }))
      for (const run of made.runs) Object.assign(run, { state: 'FAILED', reason: 'STEP_FAILED', failedCount: 1 })
    },
  )
}

describe('nothing is wrong with', () => {
  it.each([
    ['a step over the items of a list', fanOut()],
    ['a step that runs a graph', inner()],
    ['a step that was signalled', signalled()],
    [
      'a signal that nobody answered',
      changed(signalled, ({ signals }) => {
        signals[1]!.answer = 'UNKNOWN'
      }),
    ],
    ['a step that was not signalled in time', changed(signalled, (made) => timedOut(made, 60_000))],
    ['a condition that holds', withCondition('results.first.n > 4 || states.first == "SUCCEEDED"')],
    ['a condition that does not hold', skipped('states.first == "DEAD"', 'CONDITION_FALSE')],
    ['a condition that cannot be answered', skipped('results.first.n > 4', 'CONDITION_FAILED')],
  ])('%s', (_, made) => {
    expect(judge(historyOfMade(made))).toEqual([])
  })
})

describe('found is', () => {
  it.each<[string, string, Made]>([
    [
      'a result out of order',
      'fan-outs-are-complete',
      changed(fanOut, ({ lives }) => {
        lives.load!.row.result = ['Z', null, 'X']
      }),
    ],
    [
      'a result without the item that failed',
      'fan-outs-are-complete',
      changed(fanOut, ({ lives }) => {
        lives.load!.row.result = ['X', 'Z']
      }),
    ],
    [
      'an item that was not started',
      'fan-outs-are-complete',
      changed(fanOut, ({ runs, lives }) => {
        runs[1]!.steps.pop()
        delete lives['load.2']
        lives.load!.row.result = ['X', null]
      }),
    ],
    [
      'an item that was started twice',
      'fan-outs-are-complete',
      changed(fanOut, ({ lives }) => {
        lives['load.1']!.row.payload = 'x'
      }),
    ],
    [
      'a list that was started twice',
      'fan-outs-are-complete',
      changed(fanOut, ({ runs }) => void runs.push({ ...runs[1]!, runId: 'again', steps: [] })),
    ],
    [
      'an item more at once than there are slots',
      'slots-are-kept',
      changed(fanOut, ({ lives }) => {
        lives['load.2']!.row.dueAt = t0 + 3_100
      }),
    ],
    [
      'a failure more than is allowed',
      'runs-follow-their-steps',
      changed(fanOut, ({ runs }) => {
        runs[1]!.maxFailures = 0
      }),
    ],
    [
      'a graph that a step started twice',
      'runs-end-their-executions',
      changed(inner, ({ runs }) => void runs.push({ ...runs[1]!, runId: 'again', steps: [] })),
    ],
    [
      'a step with another result than the run of its graph',
      'runs-end-their-executions',
      changed(inner, ({ lives }) => {
        lives.part!.row.result = { first: 1 }
      }),
    ],
    [
      'a step that has SUCCEEDED though the run of its graph has not',
      'runs-end-their-executions',
      changed(inner, ({ runs }) => void Object.assign(runs[1]!, { state: 'FAILED', reason: 'STEP_FAILED' })),
    ],
    [
      'a step that failed because a connection was lost',
      'runs-end-their-executions',
      changed(
        () => skipped('results.first.n > 4', 'CONDITION_FAILED'),
        ({ lives }) => {
          lives.part!.row.error = 'ConnectionLostError'
        },
      ),
    ],
    [
      'a step that ended before the run of its graph',
      'runs-end-their-executions',
      changed(inner, ({ lives }) => {
        lives.part!.row.finishedAt = t0 + 3_200
      }),
    ],
    [
      'a step that began to run a graph before what it depends on',
      'steps-wait',
      changed(fanOut, ({ runs }) => {
        runs[1]!.createdAt = t0 + 1_200
      }),
    ],
    [
      'a signal that is not the result',
      'signals-end-steps',
      changed(signalled, ({ lives }) => {
        lives.approve!.row.result = 'too early'
      }),
    ],
    [
      'a refused signal that counted all the same',
      'signals-end-steps',
      changed(signalled, ({ signals }) => {
        signals[1]!.answer = 'REFUSED'
      }),
    ],
    [
      'a second signal that was accepted',
      'signals-end-steps',
      changed(signalled, ({ signals }) => {
        signals[0]!.answer = 'ACCEPTED'
      }),
    ],
    [
      'a step that did not wait as long as it should',
      'signals-end-steps',
      changed(signalled, (m) => timedOut(m, 50_000)),
    ],
    ['a step that ran against its condition', 'runs-follow-their-steps', withCondition('states.first == "DEAD"')],
    [
      'a step that was skipped though its condition holds',
      'runs-follow-their-steps',
      skipped('states.first == "SUCCEEDED"', 'CONDITION_FALSE'),
    ],
    [
      'a step that was skipped by a condition that cannot be answered',
      'runs-follow-their-steps',
      skipped('results.first.n > 4', 'CONDITION_FALSE'),
    ],
  ])('%s', (_, checker, made) => {
    expect(judge(historyOfMade(made)).map((violation) => violation.checker)).toContain(checker)
  })

  it('a job that begins another run of its graph while one goes on', () => {
    const executions = [1, 2].map((n) => {
      const transitions = [transition({ at: t0 + n * 1_000 + 10, to: 'DEFERRED', fence: n * 10 })]
      const { row } = occurrence(n, { handler: 'carillon.dag', finishedAt: t0 + 2_500 + n, result: {}, transitions })
      return { row, runs: [] }
    })
    const history = historyOf(executions)
    history.spans[0]!.overlap = 'FORBID'
    expect(judge(history).map(({ checker }) => checker)).toContain('forbid-never-overlaps')
  })
})
