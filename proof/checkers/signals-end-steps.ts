/** Steps that wait for a signal: docs/guides/dags.md, a second time. */
import { isDeepStrictEqual } from 'node:util'
import type { Checker, Signal } from '../history.ts'
import { isWhole } from './leases.ts'
import { lastLife, type Step, stepsOf } from './step-lives.ts'

export const signalsEndSteps: Checker = {
  name: 'signals-end-steps',
  promise:
    'A step that waits for a signal ends by the one signal that counts, with its payload, or when its time is over.',
  check(history) {
    const sent = Map.groupBy(history.signals, ({ executionId }) => executionId)
    return stepsOf(history)
      .filter(({ asked }) => asked.waitFor !== null)
      .flatMap((step) =>
        problemsOf(step, sent.get(step.row.executionId) ?? [], history.slackMs).map((problem) => ({
          subject: step.row.executionId,
          problem: `(${step.asked.name}) ${problem}`,
        })),
      )
  },
}

function problemsOf(step: Step, signals: readonly Signal[], slackMs: number): string[] {
  const { state, reason, result, transitions, finishedAt } = step.row
  const accepted = signals.filter(({ answer }) => answer === 'ACCEPTED')
  if (accepted.length > 1) return [`accepted ${accepted.length} signals`]
  if (state !== 'SUCCEEDED') {
    if (accepted.length > 0) return [`is ${state} ${reason}, though a signal was accepted`]
    if (state !== 'DEAD' || step.asked.timeoutSec === null || !isWhole(step.row)) return []
    const since = transitions.findLast(({ to }) => to === 'DEFERRED')?.at ?? lastLife(step).from
    const waited = finishedAt! - since
    return waited + slackMs >= step.asked.timeoutSec * 1_000 ? [] : [`is DEAD after ${waited} ms, before its time`]
  }
  const counted = accepted[0] ?? signals.find((each) => each.answer === 'UNKNOWN' && isPayload(each, result))
  if (counted === undefined)
    return [`SUCCEEDED with ${JSON.stringify(result)}, which no signal had that may have counted`]
  if (!isPayload(counted, result))
    return [`SUCCEEDED with ${JSON.stringify(result)}, and accepted ${JSON.stringify(counted.payload)}`]
  return counted.at <= finishedAt! + slackMs ? [] : [`ended at ${finishedAt}, before its signal at ${counted.at}`]
}

function isPayload({ payload }: Signal, result: unknown): boolean {
  return isDeepStrictEqual(payload, result)
}
