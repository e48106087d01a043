import type { Checker } from '../history.ts'
import { hasEnded } from './leases.ts'

export const everythingEnds: Checker = {
  name: 'everything-ends',
  promise: 'Once nothing disturbs the installation and nothing new comes, everything comes to an end.',
  check({ executions }) {
    return executions
      .filter((row) => !hasEnded(row) || row.finishedAt === null)
      .map(({ executionId, state, attempt, handler }) => ({
        subject: executionId,
        problem: `(${handler}) is still ${state} after ${attempt} attempts`,
      }))
  },
}
