import type { Delivery, DstPolicy, JobType, MisfirePolicy, OverlapPolicy, Priority, RetryPolicy } from './words.ts'

/** How executions are run: the same for jobs and for submissions. */
export interface ExecutionPolicy {
  priority?: Priority
  retryPolicy?: Partial<RetryPolicy>
  /** Per attempt. */
  timeoutSec?: number
  /** Over all attempts. */
  deadlineSec?: number
  /** A handler silent for so long is TIMED_OUT though its worker lives. */
  heartbeatTimeoutSec?: number
  /** Not leased within this time after it was due: SKIPPED (EXPIRED). */
  startWithinSec?: number
  /** Time a handler has between being told to stop and losing its lease. */
  cancelGraceSec?: number
  unknownHandlerSec?: number
  delivery?: Delivery
  labels?: Record<string, string>
  traceparent?: string
}

/** When a job fires: exactly one of the four time fields, by type. */
export interface ScheduleInput {
  type: JobType
  /** ONE_SHOT: an instant, ISO 8601 or milliseconds since 1970. Left out: now. */
  runAt?: string | number | Date
  /** DELAYED. */
  delayMs?: number
  /** CRON: 5 or 6 fields, or `@hourly` and the like. */
  schedule?: string
  /** INTERVAL: an ISO 8601 duration. */
  interval?: string
  /** INTERVAL: where counting starts. Left out: when the job is created. */
  anchor?: string | number | Date
  timezone?: string
  dst?: Partial<DstPolicy>
  startAt?: string | number | Date
  endAt?: string | number | Date
  maxFires?: number
  jitterSec?: number
  misfire?: MisfirePolicy
  misfireAfterSec?: number
  maxCatchUp?: number
  graceSec?: number
  overlap?: OverlapPolicy
}

export interface JobInput extends ExecutionPolicy, ScheduleInput {
  name?: string
  key?: string
  managedBy?: string
  target: { pool?: string; handler: string }
  /** Any JSON. */
  payload?: unknown
}
