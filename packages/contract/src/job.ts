/** Jobs as programs ask for them: the wire's own shape, but an instant may also be a Date or milliseconds since 1970. */
import { ranges } from './ranges.ts'
import type { WireJobInput } from './schemas/job.ts'
import { type JobType, timeFields } from './words.ts'

type InstantField = 'runAt' | 'anchor' | 'startAt' | 'endAt'
type Instants = { [F in InstantField]?: string | number | Date }

export type JobInput = Omit<WireJobInput, InstantField> & Instants

/** How executions are run: the same for jobs and for submissions. */
export const executionPolicyFields = [
  'priority',
  'retryPolicy',
  'timeoutSec',
  'deadlineSec',
  'heartbeatTimeoutSec',
  'startWithinSec',
  'cancelGraceSec',
  'unknownHandlerSec',
  'delivery',
  'limits',
  'labels',
  'traceparent',
] as const satisfies readonly (keyof WireJobInput)[]

export type ExecutionPolicy = Pick<WireJobInput, (typeof executionPolicyFields)[number]>

/**
 * What stands for a run waits as long as the run takes, and ends as it does: its steps have attempts of their own. Cancelled, it lets
 * the run stop its steps first.
 */
export function policyOfRuns<P extends ExecutionPolicy>(asked: P): P {
  return {
    ...asked,
    timeoutSec: asked.timeoutSec ?? ranges.timeoutSec.max,
    retryPolicy: { ...asked.retryPolicy, maxAttempts: asked.retryPolicy?.maxAttempts ?? 1 },
    cancelGraceSec: asked.cancelGraceSec ?? ranges.cancelGraceSec.max,
  }
}

/** How a schedule is read, besides the time field itself. */
export const schedulePolicyFields = [
  'anchor',
  'timezone',
  'dst',
  'dayFields',
  'startAt',
  'endAt',
  'maxFires',
  'jitterSec',
  'misfire',
  'misfireAfterSec',
  'maxCatchUp',
  'graceSec',
  'overlap',
  'pauseAfterFailures',
] as const satisfies readonly (keyof WireJobInput)[]

type TimeField = (typeof timeFields)[JobType]
type ScheduleField = 'type' | TimeField | (typeof schedulePolicyFields)[number]

/** When a job fires: exactly one of the time fields, by type. */
export type ScheduleInput = Omit<Pick<WireJobInput, ScheduleField>, InstantField> & Instants

const namingFields = ['name', 'key', 'managedBy'] as const

/** Every field of a job as it is asked for. */
export const jobInputFields = [
  ...namingFields,
  'type',
  ...Object.values(timeFields),
  ...schedulePolicyFields,
  'target',
  'payload',
  'dedupe',
  ...executionPolicyFields,
] as const satisfies readonly (keyof WireJobInput)[]

/** What `enqueue` takes, in library mode and of the client. */
export interface EnqueueOptions extends ExecutionPolicy {
  name?: string
  /** When to run. Left out: now. A text without an offset is a time on the clock of `timezone`. */
  runAt?: JobInput['runAt']
  /** The zone of a `runAt` without an offset. */
  timezone?: string
  /** What a `runAt` without an offset does if that time does not exist or comes twice. */
  dst?: JobInput['dst']
  delayMs?: number
  /** At most one submission holds this key. */
  dedupe?: JobInput['dedupe']
}

/** What `schedule` takes, in library mode and of the client. */
export type ScheduleOptions = ExecutionPolicy &
  Omit<ScheduleInput, 'type' | TimeField> & {
    name?: string
    /** Names the job in its tenant: the same key again changes the job instead of making another. */
    key?: string
    managedBy?: string
  } & (
    | { cron: string; every?: never; after?: never }
    | { /** ISO 8601 duration. */ every: string; cron?: never; after?: never }
    | {
        /** Whenever an execution of another job has ended. */ after: NonNullable<WireJobInput['after']>
        cron?: never
        every?: never
      }
  )

/** Options of `schedule`, in library mode and of the client. */
export const scheduleOptionNames = [
  ...namingFields,
  'cron',
  'every',
  'after',
  ...schedulePolicyFields,
  ...executionPolicyFields,
]

/** Options of `enqueue`, in library mode and of the client. */
export const enqueueOptionNames = ['name', 'runAt', 'timezone', 'dst', 'delayMs', 'dedupe', ...executionPolicyFields]

export const retryPolicyFields = [
  ...['maxAttempts', 'backoff', 'initialDelayMs', 'factor', 'maxDelayMs', 'jitter', 'delaysMs', 'nonRetryableErrors'],
] as readonly string[]
export const dedupeFields = ['key', 'while', 'windowSec', 'onDuplicate', 'maxWaitSec'] as readonly string[]
export const dstFields = ['gap', 'overlap'] as readonly string[]
/** Targets that a node runs itself. */
export const builtInKinds = ['http', 'shell', 'kafka', 'lambda', 'dag'] as const
export type BuiltInKind = (typeof builtInKinds)[number]
export type BuiltInTarget = Pick<WireJobInput['target'], BuiltInKind>
export const targetFields = ['pool', 'handler', ...builtInKinds] as readonly string[]

/** The URL of an HTTP target in one line: the reference, if it is a secret. */
export function urlText(url: NonNullable<WireJobInput['target']['http']>['url']): string {
  return typeof url === 'string' ? url : url.secretRef
}
