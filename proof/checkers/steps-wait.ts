import type { Checker, LedgerRow } from '../history.ts'
import { isWhole, runsByExecution, startTimes } from './leases.ts'
import { lifeAt, stepsOf } from './step-lives.ts'

export const stepsWait: Checker = {
  name: 'steps-wait',
  promise: 'No step of a run begins before all it depends on have ended.',
  check(history) {
    const byExecution = runsByExecution(history.runs)
    const started = Map.groupBy(history.dagRuns, ({ startedBy }) => startedBy)
    const startsOf = (row: LedgerRow) => [
      ...startTimes(row, byExecution.get(row.executionId)),
      ...(started.get(row.executionId) ?? []).map(({ createdAt }) => createdAt),
    ]
    return stepsOf(history).flatMap(({ row, asked, parents }) =>
      startsOf(row).flatMap((at) =>
        parents
          .filter((parent) => isWhole(parent.row))
          .flatMap((parent) => {
            const { endedAt } = lifeAt(parent, at)
            if (endedAt !== null && endedAt <= at + history.slackMs) return []
            const ended = endedAt === null ? 'has not ended' : `ended at ${endedAt}`
            return [
              {
                subject: row.executionId,
                problem: `(${asked.name}) began at ${at}; ${parent.asked.name}, on which it depends, ${ended}`,
              },
            ]
          }),
      ),
    )
  },
}
