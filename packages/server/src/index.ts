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
export {
  Carillon,
  type CarillonOptions,
  createCarillon,
  type EnqueueOptions,
  type ScheduleOptions,
} from './library/carillon.ts'
export { ExecutionFailed, ExecutionHandle } from './library/handle.ts'
export type { ExecutionView } from './library/view.ts'
