import type { Checker } from '../history.ts'

export const acknowledgedIsKept: Checker = {
  name: 'acknowledged-is-kept',
  promise: 'What a client was told is accepted is in the ledger.',
  check({ executions, dagRuns, acknowledged }) {
    const known = new Set([...executions.map(({ executionId }) => executionId), ...dagRuns.map(({ runId }) => runId)])
    return acknowledged
      .filter(({ executionId }) => !known.has(executionId))
      .map(({ executionId, at }) => ({
        subject: executionId,
        problem: `was acknowledged at ${at} and is not in the ledger`,
      }))
  },
}
