import type { Checker } from '../history.ts'
import { HealthyTime } from './healthy-time.ts'
import { waits } from './waiting.ts'

export const latenessWhileHealthy: Checker = {
  name: 'lateness-while-healthy',
  promise: 'While nothing disturbs the installation, what is due fires on time and starts on time.',
  check(history) {
    const { executions, bounds } = history
    const healthy = new HealthyTime(history)
    const late = executions
      .filter(({ origin, state, reason }) => origin === 'SCHEDULE' && (state !== 'SKIPPED' || reason === 'EXPIRED'))
      .filter(({ dueAt, firedAt }) => healthy.between(dueAt, firedAt) > bounds.fireMs)
      .map(({ executionId, dueAt, firedAt }) => ({
        subject: executionId,
        problem: `fired ${firedAt - dueAt} ms late, ${healthy.between(dueAt, firedAt)} ms of it healthy`,
      }))
    const slow = waits(history)
      .filter(({ row, to, began }) => began && to - row.dueAt > bounds.startMs && healthy.throughout(row.dueAt, to))
      .map(({ row, to }) => ({ subject: row.executionId, problem: `started ${to - row.dueAt} ms after it was due` }))
    return [...late, ...slow]
  },
}
