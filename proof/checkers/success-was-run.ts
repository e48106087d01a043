import type { Checker } from '../history.ts'
import { isBuiltIn, runsByExecution } from './leases.ts'

export const successWasRun: Checker = {
  name: 'success-was-run',
  promise:
    'What the ledger calls SUCCEEDED was run to its end by a worker before, under the fence that the ledger names.',
  check({ executions, runs, slackMs }) {
    const byExecution = runsByExecution(runs)
    return executions
      .filter((row) => row.state === 'SUCCEEDED' && !isBuiltIn(row))
      .flatMap(({ executionId, fence, finishedAt }) => {
        const own = (byExecution.get(executionId) ?? []).filter((run) => run.fence === fence)
        const over = own.find(({ what }) => what === 'SUCCEEDED')
        if (over && over.at <= finishedAt! + slackMs) return []
        const said = over
          ? `it came to its end at ${over.at}`
          : own.map(({ what }) => what).join(', ') || 'nobody began it'
        return [{ subject: executionId, problem: `is SUCCEEDED since ${finishedAt} under fence ${fence}: ${said}` }]
      })
  },
}
