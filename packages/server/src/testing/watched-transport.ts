/** The transport of the test's worker: records every call and injects faults. */
import type { Transport } from '@carillon/sdk'
import type { Database } from '../store/database.ts'
import { readCommitted } from './due-work.ts'
import type { Faults } from './faults.ts'
import type { RunLog } from './run-log.ts'

export function watchedTransport(
  direct: Transport,
  { database, log, faults }: { database: Database; log: RunLog; faults: Faults | null },
): Transport {
  return {
    ...direct,
    async lease(request, signal) {
      const answer = await direct.lease(request, signal)
      const executions = []
      for (const execution of answer.executions) {
        if (await faults?.strikes(execution)) continue
        log.leased(execution)
        executions.push(execution)
      }
      return { ...answer, executions }
    },
    async report(report) {
      const answer = await direct.report(report)
      const inTransaction = report.outcomes.filter(({ outcome }) => outcome === 'COMPLETED_IN_TRANSACTION')
      const committed = await readCommitted(
        database,
        inTransaction.map(({ executionId }) => executionId),
      )
      for (const [i, said] of report.outcomes.entries()) {
        const own = said.outcome === 'COMPLETED_IN_TRANSACTION' ? committed.get(said.executionId) : undefined
        log.reported(said, answer.outcomes[i]!, own ?? null)
      }
      for (const [i, key] of report.began.entries()) if (answer.began[i] === 'REFUSED') log.notStarted(key)
      return answer
    },
  }
}
