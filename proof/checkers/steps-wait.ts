import type { Checker } from '../history.ts'
import { isWhole, rightfulStarts, runsByExecution } from './leases.ts'
import { lifeAt, stepsOf } from './step-lives.ts'

export const stepsWait: Checker = {
  name: 'steps-wait',
  promise: 'No step of a run begins before all it depends on have ended.',
  check(history) {
    const byExecution = runsByExecution(history.runs)
    return stepsOf(history).flatMap(({ row, asked, parents }) =>
      rightfulStarts(row, byExecution.get(row.executionId)).flatMap(({ at, worker }) =>
        parents
          .filter((parent) => isWhole(parent.row))
          .flatMap((parent) => {
            const { endedAt } = lifeAt(parent, at)
            if (endedAt !== null && endedAt <= at + history.slackMs) return []
            const ended = endedAt === null ? 'has not ended' : `ended at ${endedAt}`
            return [
              {
                subject: row.executionId,
                problem: `(${asked.name}) was begun by ${worker} at ${at}; ${parent.asked.name}, on which it depends, ${ended}`,
              },
            ]
          }),
      ),
    )
  },
}
