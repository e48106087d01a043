import { cancelExecutions, purgeDeadLetters, replayDeadLetters, retryExecutions } from './bulk.ts'
import { cancelExecution, retryExecution } from './change.ts'
import { completeExecution } from './complete.ts'
import { explainExecution, getExecution, getExecutionLogs } from './get.ts'
import { listDeadLetters, listExecutions } from './list.ts'

export const executionsRoutes = {
  listExecutions,
  getExecution,
  cancelExecution,
  retryExecution,
  completeExecution,
  getExecutionLogs,
  explainExecution,
  cancelExecutions,
  retryExecutions,
  listDeadLetters,
  replayDeadLetters,
  purgeDeadLetters,
}
