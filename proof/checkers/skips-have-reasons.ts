import type { Checker, LedgerRow } from '../history.ts'

const skips = new Set(['MISFIRED', 'GRACE_EXCEEDED', 'CATCH_UP_LIMIT', 'OVERLAP', 'PAUSED', 'EDITED', 'EXPIRED'])
/** Of steps: whether these are right, runs-follow-their-steps says. */
const skipsOfSteps = new Set([
  ...['DEPENDENCY_FAILED', 'DEPENDENCY_SKIPPED', 'CONDITION_FALSE', 'CONDITION_FAILED', 'INPUTS_TOO_LARGE'],
])

export const skipsHaveReasons: Checker = {
  name: 'skips-have-reasons',
  promise: 'Whatever did not run says why, and a row that stands for several says for how many and up to when.',
  check({ executions }) {
    return executions.flatMap((row) => {
      const problem = problemOf(row)
      return problem === null ? [] : [{ subject: row.executionId, problem }]
    })
  },
}

function problemOf({ origin, state, reason, scheduledFor, skippedLast, skippedCount }: LedgerRow): string | null {
  if (state === 'DEAD' || state === 'CANCELLED') return reason ? null : `is ${state} without a reason`
  if (state !== 'SKIPPED') {
    return skippedCount === null && skippedLast === null ? null : `is ${state} and stands for skipped ones`
  }
  const known = skips.has(reason ?? '') || (origin === 'DAG' && skipsOfSteps.has(reason ?? ''))
  if (!known) return `is SKIPPED for no reason that is known: ${reason}`
  const one = (skippedCount ?? 1) === 1
  if (one)
    return (skippedLast ?? scheduledFor) === scheduledFor ? null : `stands for one, and its last is ${skippedLast}`
  if (skippedCount! > 1 && skippedLast !== null && skippedLast > scheduledFor) return null
  return `stands for ${skippedCount} from ${scheduledFor} to ${skippedLast}`
}
