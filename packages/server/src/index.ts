import './node-version.ts'

export { CarillonError, defaults, type ErrorCode, errorTable, limits } from '@carillon/contract'
export {
  AbortReason,
  defineHandler,
  ExecutionFailed,
  ExecutionHandle,
  eachOf,
  type HandlerContext,
  type HandlerDefinition,
  implementHandler,
  PermanentError,
  type RegisteredHandler,
  RetryLater,
} from '@carillon/sdk'
export type { AuthSettings } from './config/auth-config.ts'
export type { EngineSettings } from './config/engine-config.ts'
export type { ServeSettings, TlsSettings } from './config/serve-config.ts'
export type { TargetSettings } from './config/target-config.ts'
export type { ExecutionView } from './executions/view.ts'
export type { JobView } from './jobs/view.ts'
export type { CreateJobInput, EnqueueOptions, ScheduleOptions } from './library/calls.ts'
export { Carillon } from './library/carillon.ts'
export { completeIn } from './library/complete-in.ts'
export { type CarillonOptions, createCarillon } from './library/create-carillon.ts'
export type { Transaction } from './library/transaction.ts'
export { createLogger, type Logger } from './observability/logger.ts'
export { type ServedNode, serve } from './serve/node.ts'
