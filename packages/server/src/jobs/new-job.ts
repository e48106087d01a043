/** A job that does not exist yet, from what was asked for: checked, with its first occurrence. */
import type { JobInput } from '@carillon/contract'
import { newId } from '../domain/identity.ts'
import { jitterOffsetMs } from '../domain/schedule/jitter.ts'
import { assert } from '../lib/assert.ts'
import type { NewJob, NewTimedJob } from '../store/jobs/create.ts'
import { iso, type JobRecord } from '../store/rows.ts'
import { defineJob, firstOccurrence } from './define.ts'

export interface NewJobOptions {
  tenant: string
  /** JSON text. */
  payload: string | null
  now: number
  /** What the queue tables call its pool, if that is known; else the name that was asked for. */
  pool?: string
  /** See DefineOptions. */
  payloadsToCome?: boolean
  /** Of what fires once, if it was given out already. It carries the time of the run. */
  id?: string
  /** The jitter of a schedule that says none. */
  tenantJitterSec?: number
}

export function newJob(input: JobInput, options: NewJobOptions): NewJob {
  const createdAt = Math.floor(options.now)
  const definition = defineJob(input, { ...options, jobId: '' })
  if (options.pool !== undefined) definition.pool = options.pool
  const nominal = firstOccurrence(definition, options.now)
  // One that fires once carries the time of its run in its id: its execution is it.
  const firesOnce = input.type === 'ONE_SHOT' || input.type === 'DELAYED'
  definition.jobId = options.id ?? newId(firesOnce ? nominal! : createdAt)
  const due = nominal === null ? null : nominal + jitterOffsetMs(definition.jobId, definition.jitterSec)
  return { definition, nominal, due, createdAt }
}

/** Of a type that has a first occurrence. */
export function newTimedJob(input: JobInput, options: NewJobOptions): NewTimedJob {
  const { nominal, due, ...job } = newJob(input, options)
  assert(nominal !== null && due !== null, `a job of type ${input.type} has a first occurrence`)
  return { ...job, nominal, due }
}

/** The same at another time, which its id carries: for what fires once. */
export function runningAt(job: NewTimedJob, nominal: number): NewTimedJob {
  const { definition } = job
  const runAt = definition.type === 'ONE_SHOT' ? iso(nominal) : null
  const jobId = newId(nominal)
  const due = nominal + jitterOffsetMs(jobId, definition.jitterSec)
  return { ...job, definition: { ...definition, jobId, runAt, runAtLocal: null }, nominal, due }
}

/** The job as it will stand once it is written. */
export function bornRecord({ definition, nominal, due, createdAt }: NewJob): JobRecord {
  const born = { version: 1, state: 'ACTIVE', shard: 0, fires: 0, createdAt, updatedAt: createdAt } as const
  return { definition, nominal, due, ...born }
}
