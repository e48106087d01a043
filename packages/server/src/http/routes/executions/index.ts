import { cancelExecutions, copyExecutions, purgeDeadLetters, replayDeadLetters, retryExecutions } from './bulk.ts'
import { cancelExecution, purgeDeadLetter, retryExecution } from './change.ts'
import { completeExecution } from './complete.ts'
import { explainExecution, getExecution } from './get.ts'
import { groupDeadLetters, listDeadLetters, listExecutions, listFailures } from './list.ts'
import { getExecutionLogs } from './logs.ts'

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
  copyExecutions,
  listDeadLetters,
  groupDeadLetters,
  listFailures,
  replayDeadLetters,
  purgeDeadLetters,
  purgeDeadLetter,
}
