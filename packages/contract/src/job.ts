/** Jobs as programs ask for them: the wire's own shape, but an instant may also be a Date or milliseconds since 1970. */
import type { WireJobInput } from './schemas/job.ts'

type InstantField = 'runAt' | 'anchor' | 'startAt' | 'endAt'
type Instants = { [F in InstantField]?: string | number | Date }

export type JobInput = Omit<WireJobInput, InstantField> & Instants

/** How executions are run: the same for jobs and for submissions. */
export type ExecutionPolicy = Pick<
  WireJobInput,
  | 'priority'
  | 'retryPolicy'
  | 'timeoutSec'
  | 'deadlineSec'
  | 'heartbeatTimeoutSec'
  | 'startWithinSec'
  | 'cancelGraceSec'
  | 'unknownHandlerSec'
  | 'delivery'
  | 'labels'
  | 'traceparent'
>

/** When a job fires: exactly one of the four time fields, by type. */
export type ScheduleInput = Pick<
  WireJobInput,
  | 'type'
  | 'delayMs'
  | 'schedule'
  | 'interval'
  | 'timezone'
  | 'dst'
  | 'dayFields'
  | 'maxFires'
  | 'jitterSec'
  | 'misfire'
  | 'misfireAfterSec'
  | 'maxCatchUp'
  | 'graceSec'
  | 'overlap'
  | 'pauseAfterFailures'
> &
  Instants
