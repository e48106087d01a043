/** From the words of `enqueue` and `schedule` to a job as the API takes it. */
import type { ExecutionPolicy, JobInput, ScheduleInput, WireJobInput } from '@carillon/contract'
import { recurrenceOf } from '@carillon/contract'

export interface EnqueueOptions extends ExecutionPolicy {
  name?: string
  /** When to run. Left out: now. A text without an offset is a time on the clock of `timezone`. */
  runAt?: string | number | Date
  /** The zone of a `runAt` without an offset. */
  timezone?: string
  /** What a `runAt` without an offset does if that time does not exist or comes twice. */
  dst?: JobInput['dst']
  delayMs?: number
  /** At most one stands under this key. */
  dedupe?: JobInput['dedupe']
}

export type ScheduleOptions = ExecutionPolicy &
  Omit<ScheduleInput, 'type' | 'schedule' | 'interval' | 'runAt' | 'delayMs'> & {
    name?: string
    /** Names the job in its tenant: the same key again changes the job instead of making another. */
    key?: string
    managedBy?: string
  } & ({ cron: string; every?: never } | { /** ISO 8601 duration. */ every: string; cron?: never })

const instants = ['runAt', 'anchor', 'startAt', 'endAt'] as const

export function jobInputOf(
  definition: { pool: string; name: string },
  payload: unknown,
  options: EnqueueOptions | ScheduleOptions,
): WireJobInput {
  const { cron, every, ...rest } = options as EnqueueOptions & { cron?: string; every?: string }
  const recurs = 'cron' in options || 'every' in options
  const input: Record<string, unknown> = {
    ...rest,
    ...(recurs ? recurrenceOf({ cron, every }) : { type: rest.delayMs === undefined ? 'ONE_SHOT' : 'DELAYED' }),
    payload,
  }
  for (const field of instants) {
    const value = input[field]
    if (typeof value === 'number' || value instanceof Date) input[field] = new Date(value).toISOString()
  }
  return { ...input, target: { pool: definition.pool, handler: definition.name } } as WireJobInput
}
