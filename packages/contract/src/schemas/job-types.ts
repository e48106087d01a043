/**
 * Which time field belongs to which type of job, once: the check of a definition reads it, and the OpenAPI document shows it
 * as one schema for each type, so that a generated client refuses `interval` beside `type: 'CRON'` when it compiles.
 */
import { type TSchema, Type } from 'typebox'
import { fieldsOfType, type JobType, timeFields } from '../words.ts'
import { closed } from './scalars.ts'

/** Whether a job of the type must have its time field: a ONE_SHOT without one runs now. */
export function needsTimeField(type: JobType): boolean {
  return type !== 'ONE_SHOT'
}

type Fields = Record<string, TSchema>
export type JobTypeFields = Record<JobType, Fields>

interface Shown {
  title: string
  names: Partial<Record<JobType, string>>
  description: string
  examples?: unknown[]
  /** Also a ONE_SHOT must say when. */
  withTime?: boolean
}

/** A choice by `type`. The fields are those of all types, or given for each. */
export function byType(fields: Fields | JobTypeFields, { title, names, withTime = false, ...rest }: Shown): TSchema {
  const types = Object.keys(names) as JobType[]
  return Type.Unsafe<unknown>({
    title,
    ...rest,
    discriminator: { propertyName: 'type' },
    oneOf: types.map((type) => {
      const own = 'CRON' in fields ? (fields as JobTypeFields)[type] : (fields as Fields)
      return ofType(type, own, { title: names[type]!, withTime })
    }),
  })
}

function ofType(type: JobType, fields: Fields, { title, withTime }: { title: string; withTime: boolean }): TSchema {
  const foreign = new Set(Object.entries(fieldsOfType).flatMap(([other, names]) => (other === type ? [] : names)))
  const properties: Fields = {}
  for (const [name, schema] of Object.entries(fields)) {
    if (name === 'type') properties.type = Type.Unsafe<JobType>({ ...schema, enum: undefined, const: type })
    else if (name === timeFields[type] && (withTime || needsTimeField(type)))
      properties[name] = Type.Unsafe({ ...schema })
    else if (!foreign.has(name)) properties[name] = schema
  }
  // A key names one job for good; beside it nothing can be a duplicate.
  const either = 'key' in properties && 'dedupe' in properties ? { not: { required: ['key', 'dedupe'] } } : {}
  return Type.Object(properties, { ...closed, ...either, title, description: `${words[type]} (\`type: ${type}\`).` })
}

const words: Record<JobType, string> = {
  ONE_SHOT: 'Runs once, now or at `runAt`',
  DELAYED: 'Runs once, after `delayMs`',
  CRON: 'Fires by a cron expression',
  INTERVAL: 'Fires at an interval',
  AFTER: 'Runs after executions of another job',
}
