/**
 * What library calls take, by the schemas and the checker of the HTTP API: what is refused there is refused here, in the same
 * words. Instants may also be Dates or milliseconds.
 */
import { checkOptions, enqueueOptionNames, limits, scheduleOptionNames } from '@carillon/contract'
import { api, closed, JobInput, Json, Name, Uuid } from '@carillon/contract/api'
import { type TProperties, type TSchema, Type } from 'typebox'
import { checker } from '../http/validation.ts'

/** Throws VALIDATION for an option that is not known, or a value that does not fit. */
export type CheckOptions = (options: object) => void

const job: Record<string, TSchema> = JobInput.properties
const tenant = Type.Optional(Name)
const { limit } = api.listDeadLetters.query.properties
const { type: types, jobId } = api.streamEvents.query.properties
/** `recurrenceOf` reports what else is wrong with it. */
const recurrence = Type.Optional(Type.Unsafe<string>({ maxLength: limits.scheduleLength }))
const anything = Type.Optional(Json)
/** Objects of the caller's own: nothing in them is looked at. */
const unseen = ['tx', 'payload', 'signal']
const instants = ['runAt', 'anchor', 'startAt', 'endAt']

const once = fieldsOf(enqueueOptionNames)
const { runAt: _, delayMs: __, dedupe: ___, ...many } = once

export const checkTenant = checkOf({ tenant })
export const checkEnqueue = checkOf({ ...once, tenant, tx: anything })
export const checkEnqueueMany = checkOf({ ...many, tenant })
export const checkEnqueueRun = checkOf({
  ...fieldsOf(['name', 'runAt', 'labels', 'priority', 'traceparent']),
  ...{ tenant, tx: anything, payload: anything },
})
export const checkSchedule = checkOf({ ...fieldsOf(scheduleOptionNames), cron: recurrence, every: recurrence, tenant })
export const checkJob = checkOf({ ...JobInput.properties, tenant }, 'a job')
export const checkUnschedule = checkOf({ ...api.deleteJob.query.properties, tenant })
export const checkTrigger = checkOf({ tenant, payload: anything })
export const checkLimit = checkOf({ limit, tenant })
export const checkDeadLetters = checkOf({ limit, before: Type.Optional(Uuid), tenant })
export const checkCancel = checkOf({ reason: Type.Optional(Name), tenant })
export const checkEvents = checkOf({
  types,
  jobId,
  lastEventId: Type.Optional(Type.Integer({ minimum: 0 })),
  signal: anything,
})
export const checkFollow = checkOf({ after: Type.Optional(Type.Integer({ minimum: 0 })), signal: anything, tenant })
export const checkStop = checkOf({ drainSec: Type.Optional(Type.Number({ minimum: 0 })) })

function fieldsOf(names: readonly string[]): TProperties {
  return Object.fromEntries(names.flatMap((name) => (job[name] === undefined ? [] : [[name, job[name]]])))
}

function checkOf(fields: TProperties, what?: string): CheckOptions {
  const names = Object.keys(fields)
  const check = checker(Type.Object(fields, closed), 'body')
  return (options) => {
    checkOptions(options, names, { what })
    check(wireOf(options as Record<string, unknown>))
  }
}

function wireOf(options: Record<string, unknown>): object {
  let wire = options
  const put = (name: string, value: unknown) => {
    if (wire === options) wire = { ...options }
    wire[name] = value
  }
  for (const name of unseen) if (options[name] !== undefined) put(name, undefined)
  for (const name of instants) {
    const value = options[name]
    // The library's own forms; whether they can be scheduled is decided where instants are read.
    if (typeof value === 'number' || value instanceof Date) put(name, undefined)
  }
  // Not a number in JSON either: then it is refused once, for not being one.
  for (const [name, value] of Object.entries(wire)) {
    if (typeof value === 'number' && !Number.isFinite(value)) put(name, String(value))
  }
  return wire
}
