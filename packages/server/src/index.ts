export { CarillonError, defaults, type ErrorCode, errorTable, limits } from '@carillon/contract'
export {
  AbortReason,
  defineHandler,
  type HandlerContext,
  type HandlerDefinition,
  NeverAgain,
  RetryLater,
} from '@carillon/sdk'
export type { EngineSettings } from './config/engine-config.ts'
export type { ServeSettings } from './config/serve-config.ts'
export type { ExecutionView } from './executions/view.ts'
export type { JobView } from './jobs/view.ts'
export { Carillon, type EnqueueOptions, type ScheduleOptions } from './library/carillon.ts'
export { type CarillonOptions, createCarillon } from './library/create-carillon.ts'
export { ExecutionFailed, ExecutionHandle } from './library/handle.ts'
export type { Transaction } from './library/transaction.ts'
export { type ServedNode, serve } from './serve/node.ts'
