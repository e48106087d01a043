/** From what a caller asks for to a job's definition: checked, with defaults filled in. Pure but for the id and time given. */
import { isDeepStrictEqual } from 'node:util'
import {
  CarillonError,
  dayFieldPolicies,
  defaults,
  dstFields,
  dstGaps,
  dstOverlaps,
  durationHint,
  followedEnds,
  type JobInput,
  jobTypes,
  limits,
  misfirePolicies,
  overlapPolicies,
  ranges,
  timeFields,
} from '@carillon/contract'
import { isId } from '../domain/identity.ts'
import { checkJitter, clampedJitter } from '../domain/schedule/jitter.ts'
import { instantOfLocal, wallText } from '../domain/schedule/local-time.ts'
import { nextWithin, type Schedule } from '../domain/schedule/schedule.ts'
import { zoneNamed } from '../domain/schedule/zone.ts'
import { isoMs } from '../lib/iso-time.ts'
import { boundsOf, scheduleOf } from '../store/job-schedule.ts'
import type { JobDefinition } from '../store/jobs/definition.ts'
import { iso, laneOf } from '../store/rows.ts'
import { checkPolicy, storedPolicy, withLimitKeys } from './policy.ts'
import { checkTarget, placeOf } from './target.ts'
import { Problems } from './validate.ts'

export interface DefineOptions {
  jobId: string
  tenant: string
  /** JSON text. */
  payload: string | null
  now: number
  /** For an INTERVAL without an anchor of its own: that of the job before the change. */
  anchor?: string | null
  /** Each execution will have a payload of its own: what limits name of it is left open. */
  payloadsToCome?: boolean
  /** The jitter of a schedule that says none: its tenant's default; left out: none. */
  tenantJitterSec?: number
  /** What the job was before the change. */
  before?: JobDefinition
}

const typesAndFields = Object.entries(timeFields)

export function defineJob(input: JobInput, options: DefineOptions): JobDefinition {
  const problems = new Problems()
  problems.oneOf('/type', input.type, jobTypes)
  problems.throwIfAny()
  checkTimeFields(problems, input)
  checkTarget(problems, input.target)
  for (const field of ['name', 'key', 'managedBy', 'timezone'] as const) {
    if (input[field] !== undefined) problems.text(`/${field}`, input[field], limits.nameLength)
  }
  problems.integer('/delayMs', input.delayMs, ranges.delayMs)
  problems.integer('/maxFires', input.maxFires, ranges.maxFires)
  problems.integer('/jitterSec', input.jitterSec, ranges.jitterSec)
  problems.integer('/misfireAfterSec', input.misfireAfterSec, ranges.misfireAfterSec)
  problems.integer('/maxCatchUp', input.maxCatchUp, ranges.maxCatchUp)
  problems.integer('/graceSec', input.graceSec, ranges.graceSec)
  problems.integer('/pauseAfterFailures', input.pauseAfterFailures, ranges.pauseAfterFailures)
  problems.oneOf('/misfire', input.misfire, misfirePolicies)
  problems.oneOf('/overlap', input.overlap, overlapPolicies)
  if (problems.object('/dst', input.dst)) {
    problems.unknown('/dst', input.dst, dstFields)
    problems.oneOf('/dst/gap', input.dst.gap, dstGaps)
    problems.oneOf('/dst/overlap', input.dst.overlap, dstOverlaps)
  }
  problems.oneOf('/dayFields', input.dayFields, dayFieldPolicies)
  checkPolicy(problems, input)
  const wall = problems.localTime('/runAt', input.runAt, input.timezone)
  const instant = wall === null ? problems.instant('/runAt', input.runAt) : null
  const anchor = problems.instant('/anchor', input.anchor)
  const startAt = problems.instant('/startAt', input.startAt)
  const endAt = problems.instant('/endAt', input.endAt)
  problems.throwIfAny()
  // A schedule looks up its zone itself; one that runs once has it only to be shown in.
  if (input.timezone !== undefined) zoneNamed(input.timezone)
  const dst = { ...defaults.dst, ...input.dst }
  const runAt = wall === null ? instant : instantOfLocal(wall, input.timezone!, dst)

  const place = placeOf(input.target)
  const policy = storedPolicy(input, input.target)
  const job: JobDefinition = {
    jobId: options.jobId,
    tenant: options.tenant,
    name: input.name ?? input.key ?? place.handler,
    type: input.type,
    runAt: input.type === 'ONE_SHOT' ? iso(runAt ?? Math.floor(options.now)) : null,
    runAtLocal: input.type === 'ONE_SHOT' && wall !== null ? wallText(wall) : null,
    delayMs: input.type === 'DELAYED' ? input.delayMs! : null,
    after: input.type === 'AFTER' ? storedAfter(input.after!) : null,
    schedule: input.type === 'CRON' ? input.schedule! : null,
    interval: input.type === 'INTERVAL' ? input.interval! : null,
    timezone: input.timezone ?? defaults.timezone,
    dst,
    dayFields: input.dayFields ?? defaults.dayFields,
    anchor: input.type === 'INTERVAL' ? (iso(anchor) ?? options.anchor ?? iso(Math.floor(options.now))) : null,
    startAt: iso(startAt),
    endAt: iso(endAt),
    maxFires: input.maxFires ?? null,
    jitterSec: input.jitterSec ?? 0,
    misfire: input.misfire ?? defaults.misfire,
    misfireAfterSec: input.misfireAfterSec ?? defaults.misfireAfterSec,
    maxCatchUp: input.maxCatchUp ?? defaults.maxCatchUp,
    graceSec: input.graceSec ?? null,
    startWithinSec: input.startWithinSec ?? null,
    deadlineSec: input.deadlineSec ?? null,
    overlap: input.overlap ?? defaults.overlap,
    pool: place.pool,
    lane: laneOf(input.priority ?? defaults.priority),
    handler: place.handler,
    payload: options.payload,
    policy: options.payloadsToCome ? policy : withLimitKeys(policy, options.payload),
    labels: input.labels && Object.keys(input.labels).length > 0 ? input.labels : null,
    key: input.key ?? null,
    managedBy: input.managedBy ?? null,
  }
  if (job.type === 'AFTER') return job
  const schedule = scheduleOf(job, runAt ?? Math.floor(options.now))
  if (saysNoJitter(input)) return withUnsaidJitter(job, schedule, options)
  if (job.jitterSec > 0) checkJitter(schedule, job.jitterSec, options.now)
  return job
}

/** A schedule whose jitter is its tenant's default. What runs once is due when it is asked for. */
export function saysNoJitter({ type, jitterSec }: JobInput): boolean {
  return (type === 'CRON' || type === 'INTERVAL') && jitterSec === undefined
}

/** The jitter of a job that says none is settled together with its schedule: as long as that stays, so does the jitter. */
function withUnsaidJitter(job: JobDefinition, schedule: Schedule, options: DefineOptions): JobDefinition {
  const { tenantJitterSec = 0, before, now } = options
  const saidNone = before && (before.jitterSec === 0 || before.policy?.jitterBy === 'TENANT')
  const stays = saidNone && scheduleFields.every((field) => isDeepStrictEqual(before[field], job[field]))
  const jitterSec = stays ? before.jitterSec : clampedJitter(schedule, tenantJitterSec, now)
  return jitterSec === 0 ? job : { ...job, jitterSec, policy: { ...job.policy, jitterBy: 'TENANT' } }
}

const scheduleFields = ['type', 'schedule', 'interval', 'timezone', 'dst', 'dayFields'] as const

/** Where a new job starts: its first occurrence to come. Null: it follows another job, and nobody knows when. */
export function firstOccurrence(job: JobDefinition, now: number): number | null {
  if (job.type === 'AFTER') return null
  const nominal = nominalAfter(job, now)
  if (nominal === null) {
    throw new CarillonError('SCHEDULE_NEVER_FIRES', {
      pointer: `/${timeFields[job.type]}`,
      message: 'there is no occurrence within startAt and endAt',
      hint: 'Give a later endAt or another schedule',
    })
  }
  return nominal
}

/** Null: none is to come. A one-shot fires at its time even if that has just passed; a recurring job at its next occurrence. */
export function nominalAfter(job: JobDefinition, now: number): number | null {
  if (job.type === 'CRON' || job.type === 'INTERVAL') {
    return nextWithin(scheduleOf(job, null), boundsOf(job), Math.floor(now))
  }
  if (job.type === 'AFTER') return null
  const nominal = job.type === 'ONE_SHOT' ? isoMs(job.runAt!) : Math.round(now + job.delayMs!)
  if (job.startAt === null && job.endAt === null) return nominal
  // FIRE would pass over what lies outside the bounds without a trace.
  return nextWithin(scheduleOf(job, nominal), boundsOf(job), nominal - 1)
}

function checkTimeFields(problems: Problems, input: JobInput): void {
  const wanted = timeFields[input.type]
  for (const [type, field] of typesAndFields) {
    if (field !== wanted && input[field] !== undefined) {
      problems.add(
        `/${field}`,
        `${field} belongs to type ${type}, not ${input.type}`,
        `Leave it out, or change the type`,
      )
    }
  }
  if (input[wanted] === undefined && wanted !== 'runAt')
    problems.add(`/${wanted}`, `${wanted} is required for type ${input.type}`)
  for (const field of ['schedule', 'interval'] as const) {
    if (field === wanted && input[field] !== undefined && typeof input[field] !== 'string') {
      problems.add(
        `/${field}`,
        `${field} must be a text`,
        field === 'interval' ? durationHint(input[field]) : undefined,
      )
    }
  }
  if (input.type === 'AFTER') checkAfter(problems, input)
  if (input.anchor !== undefined && input.type !== 'INTERVAL')
    problems.add('/anchor', 'anchor belongs to type INTERVAL')
  if (input.dayFields !== undefined && input.type !== 'CRON')
    problems.add('/dayFields', 'dayFields belongs to type CRON')
}

function storedAfter({ job, on = 'SUCCEEDED' }: NonNullable<JobInput['after']>): JobDefinition['after'] {
  return { job: isId(job) ? job.toLowerCase() : job, on }
}

/** Its executions are due when others end: bounds of a schedule would not hold. */
const ofSchedules = ['startAt', 'endAt', 'maxFires'] as const

function checkAfter(problems: Problems, input: JobInput): void {
  const { after, jitterSec = 0 } = input
  if (problems.object('/after', after)) {
    problems.unknown('/after', after, ['job', 'on'])
    problems.text('/after/job', after.job, limits.nameLength)
    problems.oneOf('/after/on', after.on, followedEnds)
    if (input.key !== undefined && after.job === input.key)
      problems.add('/after/job', 'a job cannot follow itself', 'Name the job that runs before it')
  }
  for (const field of ofSchedules) {
    if (input[field] !== undefined) problems.add(`/${field}`, `${field} does not go with type AFTER`, 'Leave it out')
  }
  if (jitterSec !== 0) problems.add('/jitterSec', 'jitterSec does not go with type AFTER', 'Leave it out')
}
