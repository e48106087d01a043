import type { Checker } from '../history.ts'
import { isReturn, runsByExecution } from './leases.ts'

export const atMostOnceStartsOnce: Checker = {
  name: 'at-most-once-starts-once',
  promise: 'An execution with delivery AT_MOST_ONCE is never started twice, unless a person replays it.',
  check({ executions, runs }) {
    const byExecution = runsByExecution(runs)
    return executions
      .filter(({ delivery }) => delivery === 'AT_MOST_ONCE')
      .flatMap((row) => {
        const starts = (byExecution.get(row.executionId) ?? []).filter(({ what }) => what === 'BEGAN')
        const lives = 1 + row.transitions.filter(isReturn).length
        if (starts.length <= lives) return []
        const by = starts.map(({ worker, fence }) => `${worker} (fence ${fence})`).join(', ')
        return [{ subject: row.executionId, problem: `may start once and was begun ${starts.length} times: ${by}` }]
      })
  },
}
