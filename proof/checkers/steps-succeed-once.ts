import type { Checker } from '../history.ts'
import { runsByExecution } from './leases.ts'
import { stepsOf } from './step-lives.ts'

export const stepsSucceedOnce: Checker = {
  name: 'steps-succeed-once',
  promise: 'A step that SUCCEEDED is not leased or run again, however often its run is retried.',
  check(history) {
    const byExecution = runsByExecution(history.runs)
    return stepsOf(history)
      .filter(({ row }) => row.state === 'SUCCEEDED')
      .flatMap(({ row, asked }) => {
        const begun = (byExecution.get(row.executionId) ?? []).filter(({ what }) => what === 'BEGAN')
        const leased = (history.leases ?? []).filter(({ executionId }) => executionId === row.executionId)
        const later = [...begun, ...leased].find(({ fence }) => fence > row.fence!)
        if (later === undefined) return []
        const problem = `(${asked.name}) SUCCEEDED under fence ${row.fence} and has fence ${later.fence} since ${later.at}`
        return [{ subject: row.executionId, problem }]
      })
  },
}
