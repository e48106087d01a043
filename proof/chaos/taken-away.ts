import type { Checker } from '../history.ts'

/** `long`: executions that were running when the outage began. */
export function takenAway(long: readonly string[]): Checker {
  const ran = new Set(long)
  return {
    name: 'outage-is-nobodys-fault',
    promise: 'Nobody is taken for lost because of an outage, and what ran through it needed one attempt.',
    check({ executions }) {
      return executions.flatMap(({ executionId, state, attempt, transitions }) => {
        const lost = transitions.some(({ to, reason }) => to === 'WORKER_LOST' || reason === 'WORKER_LOST')
        const again = ran.has(executionId) && (state !== 'SUCCEEDED' || attempt !== 1 || transitions.length > 0)
        if (!lost && !again) return []
        const problem = `is ${state} after ${attempt} attempts: ${JSON.stringify(transitions)}`
        return [{ subject: executionId, problem }]
      })
    },
  }
}
