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
export { Carillon, type ScheduleOptions } from './library/carillon.ts'
export { type CarillonOptions, createCarillon } from './library/create-carillon.ts'
export type { EnqueueOptions } from './library/enqueuer.ts'
export { ExecutionFailed, ExecutionHandle } from './library/handle.ts'
export type { JobView } from './library/job-view.ts'
export type { Transaction } from './library/transaction.ts'
export type { ExecutionView } from './library/view.ts'
