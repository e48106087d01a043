/** From the words of `enqueue` and `schedule` to a job as the API takes it. */
import { type EnqueueOptions, recurrenceOf, type ScheduleOptions, type WireJobInput } from '@carillon/contract'

const instants = ['runAt', 'anchor', 'startAt', 'endAt'] as const

export function jobInputOf(
  { pool, name }: { pool: string; name: string },
  payload: unknown,
  options: EnqueueOptions | ScheduleOptions,
): WireJobInput {
  return jobInputTo({ pool, handler: name }, payload, options)
}

/** An undefined payload is left out. */
export function jobInputTo(
  target: WireJobInput['target'],
  payload: unknown,
  options: EnqueueOptions | ScheduleOptions,
): WireJobInput {
  const { cron, every, after, ...rest } = options as EnqueueOptions & { cron?: string; every?: string; after?: object }
  const recurs = 'cron' in options || 'every' in options || 'after' in options
  const input: Record<string, unknown> = {
    ...rest,
    ...(recurs ? recurrenceOf({ cron, every, after }) : { type: rest.delayMs === undefined ? 'ONE_SHOT' : 'DELAYED' }),
    ...(payload !== undefined && { payload }),
  }
  for (const field of instants) {
    const value = input[field]
    if (typeof value === 'number' || value instanceof Date) input[field] = new Date(value).toISOString()
  }
  return { ...input, target } as WireJobInput
}
