import './node-version.ts'

export type { EnqueueOptions, ScheduleOptions } from '@carillon/contract'
export { type VerifyOptions, type VerifyResult, type VerifyVerdict, verifyAll } from '@carillon/contract'
export { type Clock, type Logger, systemClock } from '@carillon/contract/process'
export { Client, type ClientOptions, createClient } from './client/client.ts'
export { DagCalls, DagRunCalls } from './client/dags.ts'
export type { EventsOptions } from './client/events.ts'
export type { FollowOptions } from './client/follow.ts'
export {
  type Call,
  ExecutionCalls,
  InstallationCalls,
  JobCalls,
  LimitCalls,
  PoolCalls,
  TenantCalls,
} from './client/groups.ts'
export { type EndedExecution, ExecutionFailed, ExecutionHandle } from './client/handle.ts'
export type { CallAnswer, CallInput, OperationId } from './client/operations.ts'
export { type AddedStep, DagBuilder, type DagOptions, defineDag, type StepOptions } from './dag.ts'
export { type AbortCode, AbortReason, Deferred, PermanentError, RetryLater } from './errors.ts'
export {
  defineHandler,
  definitionOf,
  eachOf,
  type HandlerDefinition,
  type HandlerOf,
  type HandlerOptions,
  validatePayload,
  validatePayloads,
} from './handler.ts'
export { type NodeAnswer, type NodeOptions, type NodeRequest, Nodes } from './http/nodes.ts'
export { encodeJson, type JsonKind } from './json.ts'
export { checkName } from './names.ts'
export {
  signWebhook,
  type VerifiedWebhook,
  verifyWebhook,
  WebhookInvalid,
  type WebhookToSign,
  type WebhookToVerify,
} from './webhook.ts'
export { createWorker, type RemoteWorkerOptions } from './worker/remote/create-worker.ts'
export { HttpTransport } from './worker/remote/http-transport.ts'
export { LogLines } from './worker/reporting/log-lines.ts'
export { reportedError } from './worker/reporting/reported-error.ts'
export type { HandlerContext } from './worker/running/context.ts'
export type { CompleteIn } from './worker/running/held-context.ts'
export {
  type ImplementedHandler,
  type ImplementOptions,
  implementHandler,
  type RegisteredHandler,
} from './worker/running/registered-handler.ts'
export type { EndedStepState, StepContext } from './worker/running/step-context.ts'
export type * from './worker/transport.ts'
export { Worker } from './worker/worker.ts'
export type { WorkerHealth, WorkerOptions, WorkerStats } from './worker/worker-options.ts'
