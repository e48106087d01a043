/**
 * A worker that has run an execution to its end tells so until it is heard: nobody may conclude from its heartbeats that it
 * never had it. Only if the lease was long on its way may a heartbeat without it have been, too.
 */
import type { Checker, History, LedgerTransition } from '../history.ts'
import { runsByExecution } from './leases.ts'

/** A lease that began to run within it was with its worker from the beginning. */
const atOnceMs = 100

export const whatRanIsNotHandedBack: Checker = {
  name: 'what-ran-is-not-handed-back',
  promise: 'An execution that its worker has run to its end is not taken back as one that the worker never named.',
  check({ executions, runs, leases, slackMs }) {
    const byExecution = runsByExecution(runs)
    const leasedAt = leaseTimes(leases)
    return executions.flatMap(({ executionId, transitions }) =>
      transitions.filter(isTakenBack).flatMap(({ fence, at }) => {
        const own = (byExecution.get(executionId) ?? []).filter((run) => run.fence === fence)
        const began = own.find(({ what }) => what === 'BEGAN')
        const over = own.find(({ what }) => what === 'SUCCEEDED' || what === 'FAILED')
        const given = leasedAt.get(`${executionId} ${fence}`)
        if (!began || !over || given === undefined) return []
        if (over.at + slackMs >= at || began.at - given > atOnceMs) return []
        const problem = `came to its end under fence ${fence} at ${over.at} and was handed back at ${at} as not named`
        return [{ subject: executionId, problem }]
      }),
    )
  },
}

function isTakenBack({ to, reason }: LedgerTransition): boolean {
  return to === 'HANDED_BACK' && reason === 'NOT_NAMED'
}

function leaseTimes(leases: History['leases']): Map<string, number> {
  return new Map((leases ?? []).map(({ executionId, fence, at }) => [`${executionId} ${fence}`, at]))
}
