/** What a change makes of a job: its state and the position of its schedule. Pure: what was read and the time are arguments. */
import { isDeepStrictEqual } from 'node:util'
import { CarillonError } from '@carillon/contract'
import { jitterOffsetMs } from '../domain/schedule/jitter.ts'
import { missedWhilePaused } from '../domain/schedule/misfire.ts'
import { nextWithin } from '../domain/schedule/schedule.ts'
import { boundsOf, executionIdOf, scheduleOf } from '../store/job-schedule.ts'
import type { JobChange } from '../store/jobs/change.ts'
import type { JobDefinition } from '../store/jobs/definition.ts'
import type { JobRecord } from '../store/rows.ts'
import { firstOccurrence, nominalAfter } from './define.ts'

export interface Moment {
  now: number
  /** Nothing can be recorded before this time: history there is gone. */
  floor: number
}

/** Null: it is paused already. */
export function paused(job: JobRecord): JobChange | null {
  if (job.state === 'PAUSED') return null
  if (job.state !== 'ACTIVE') throw conflict(job, 'be paused')
  return { definition: null, state: 'PAUSED', nominal: job.nominal, due: null, live: null, skipped: [] }
}

/** Null: it is not paused. What has passed meanwhile is recorded. */
export function resumed(job: JobRecord, moment: Moment): JobChange | null {
  if (job.state === 'ACTIVE') return null
  if (job.state !== 'PAUSED') throw conflict(job, 'be resumed')
  const { skipped, next } = passedWhilePaused(job, moment)
  return {
    definition: null,
    state: next === null && job.definition.type !== 'AFTER' ? 'COMPLETED' : 'ACTIVE',
    nominal: next,
    due: next === null ? null : next + jitterMsOf(job.definition),
    live: null,
    skipped,
    computedAt: Math.floor(moment.now),
  }
}

/** A job that stays paused, with what has passed until now on record. Null: nothing has. */
export function settled(job: JobRecord, moment: Moment): JobChange | null {
  if (job.state !== 'PAUSED' || job.nominal === null) return null
  const { skipped, next } = passedWhilePaused(job, moment)
  if (next === job.nominal) return null
  return {
    definition: null,
    state: next === null ? 'COMPLETED' : 'PAUSED',
    nominal: next,
    due: null,
    live: null,
    skipped,
    computedAt: Math.floor(moment.now),
  }
}

export function removed(job: JobRecord, moment: Moment): JobChange {
  const skipped = job.state === 'PAUSED' ? passedWhilePaused(job, moment).skipped : []
  const computedAt = Math.floor(moment.now)
  return { definition: null, state: 'DELETED', nominal: null, due: null, live: null, skipped, computedAt }
}

/** `live`: see JobChange. */
export function redefined(job: JobRecord, definition: JobDefinition, live: string[] | null, moment: Moment): JobChange {
  const sameOccurrences = sameTimes(job.definition, definition)
  if (job.state === 'COMPLETED' && sameOccurrences && job.definition.maxFires === definition.maxFires) {
    return { definition, state: 'COMPLETED', nominal: null, due: null, live, skipped: [] }
  }
  if (definition.maxFires !== null && definition.maxFires <= job.fires) {
    throw new CarillonError('SCHEDULE_NEVER_FIRES', {
      pointer: '/maxFires',
      message: `the job has fired ${job.fires} times already`,
      hint: 'Give a larger maxFires, or leave it out',
    })
  }
  const { now } = moment
  const state = job.state === 'COMPLETED' ? 'ACTIVE' : job.state
  const movedTo = (nominal: number | null, skipped: JobChange['skipped']): JobChange => {
    const due = state === 'PAUSED' || nominal === null ? null : nominal + jitterMsOf(definition)
    return { definition, state, nominal, due, live, skipped, computedAt: Math.floor(now) }
  }
  if (sameOccurrences && job.nominal !== null) return movedTo(job.nominal, [])
  const { skipped, next } = state === 'PAUSED' ? passedWhilePaused(job, moment) : { skipped: [], next: job.nominal }
  if (next !== null && next <= now) {
    // Its time has come and it has not fired yet: if it is still an occurrence, it stays.
    if (occursAt(definition, next)) return movedTo(next, skipped)
    skipped.push(...edited(job, next, moment))
  }
  return movedTo(nominalAfter(definition, now) ?? firstOccurrence(definition, now), skipped)
}

/** The job as it will stand once the change is written. */
export function changedRecord(job: JobRecord, change: JobChange, now: number): JobRecord {
  const { state, nominal, due } = change
  const definition = change.definition ?? job.definition
  return { ...job, definition, version: job.version + (change.definition ? 1 : 0), state, nominal, due, updatedAt: now }
}

/** Two writings of one instant are the same. */
export function sameDefinition(a: JobDefinition, b: JobDefinition): boolean {
  return isDeepStrictEqual(normal(a), normal(b))
}

function passedWhilePaused(job: JobRecord, moment: Moment): Pick<JobChange, 'skipped'> & { next: number | null } {
  const { definition, nominal } = job
  if (nominal === null) return { skipped: [], next: null }
  const jitterMs = jitterMsOf(definition)
  const [schedule, bounds] = [scheduleOf(definition, nominal), boundsOf(definition)]
  const { now, floor } = moment
  const { next } = missedWhilePaused(schedule, bounds, nominal, now, jitterMs)
  // On record is what history is kept of.
  const from = nominal >= floor ? nominal : nextWithin(schedule, bounds, floor - 1)
  const missed = from === null ? null : missedWhilePaused(schedule, bounds, from, now, jitterMs).missed
  if (missed === null) return { skipped: [], next }
  const { first, last, count, reason } = missed
  const id = executionIdOf(definition, first)
  return { skipped: [{ id, nominal: first, due: first + jitterMs, reason, last, count }], next }
}

/** What had come by now and has not fired: the occurrence the schedule stands at and, after an outage, those after it. */
function edited({ definition }: JobRecord, nominal: number, { now, floor }: Moment): JobChange['skipped'] {
  const [schedule, bounds] = [scheduleOf(definition, nominal), boundsOf(definition)]
  const from = nominal >= floor ? nominal : nextWithin(schedule, bounds, floor - 1)
  const missed = from === null ? null : missedWhilePaused(schedule, bounds, from, Math.floor(now)).missed
  if (missed === null) return []
  const { first, last, count } = missed
  const several = count > 1 ? { last, count } : { last: null, count: null }
  const id = executionIdOf(definition, first)
  return [{ id, nominal: first, due: first + jitterMsOf(definition), reason: 'EDITED', ...several }]
}

function occursAt(job: JobDefinition, nominal: number): boolean {
  return (
    job.type !== 'DELAYED' &&
    job.type !== 'AFTER' &&
    nextWithin(scheduleOf(job, null), boundsOf(job), nominal - 1) === nominal
  )
}

function sameTimes(a: JobDefinition, b: JobDefinition): boolean {
  const times = (job: JobDefinition) => [
    ...[job.type, job.delayMs, job.schedule, job.interval, job.timezone, job.dst, job.dayFields],
    ...[job.runAt, job.anchor, job.startAt, job.endAt].map(instant),
  ]
  return isDeepStrictEqual(times(a), times(b))
}

function normal(job: JobDefinition): object {
  const { runAt, anchor, startAt, endAt, ...rest } = job
  return { ...rest, times: [runAt, anchor, startAt, endAt].map(instant) }
}

function instant(text: string | null): number | null {
  return text === null ? null : Date.parse(text)
}

function jitterMsOf(job: JobDefinition): number {
  return jitterOffsetMs(job.jobId, job.jitterSec)
}

function conflict(job: JobRecord, verb: string): CarillonError {
  return new CarillonError('STATE_CONFLICT', { message: `a job that is ${job.state} cannot ${verb}` })
}
