/** Backfills: which occurrences of a job are meant, and the next ones to create. */
import { type BackfillInput, CarillonError } from '@carillon/contract'
import { firstIdAt, timeOf } from '../domain/identity.ts'
import { type BackfillPlan, type Counting, planBackfill, type SkippedRow } from '../domain/schedule/backfill.ts'
import { jitterOffsetMs } from '../domain/schedule/jitter.ts'
import { countWithin, nextWithin, previousWithin, upcoming } from '../domain/schedule/schedule.ts'
import type { Database } from '../store/database.ts'
import { readRecorded, readSkippedBefore } from '../store/executions/read-occurrences.ts'
import { boundsOf, executionIdOf, scheduleOf } from '../store/job-schedule.ts'
import { readJob } from '../store/jobs/read.ts'
import { readVersions } from '../store/jobs/versions.ts'
import type { BackfillParams } from '../store/operations/operations.ts'
import { readInstallation } from '../store/partitions/manage.ts'
import type { JobRecord } from '../store/rows.ts'

/** Occurrences looked at in one go. */
const stretchLength = 500
const mostStretches = 200

type Wanted = Pick<BackfillInput, 'from' | 'to' | 'includeSkipped' | 'concurrency'>

export interface BackfillRequest extends Required<Wanted> {
  tenant: string
  jobId: string
  now: number
}

/** Refuses what cannot be filled. */
export async function backfillOf(database: Database, request: BackfillRequest): Promise<BackfillParams> {
  const { tenant, jobId, includeSkipped, concurrency, now } = request
  const job = await readJob(database, tenant, jobId)
  if (!job)
    throw new CarillonError('JOB_NOT_FOUND', { message: `there is no job ${jobId}`, hint: 'Check id and tenant' })
  if (!recurs(job)) {
    throw new CarillonError('STATE_CONFLICT', {
      message: `a ${job.definition.type} job has no occurrences that could have been missed`,
      hint: 'Trigger it to run it now',
    })
  }
  const from = Date.parse(request.from)
  const to = Date.parse(request.to)
  const refused = (pointer: string, message: string, hint?: string) =>
    new CarillonError('VALIDATION', { pointer, message, hint })
  if (Number.isNaN(from)) throw refused('/from', 'is not an instant')
  if (Number.isNaN(to)) throw refused('/to', 'is not an instant')
  if (from >= to) throw refused('/to', '`to` must be after `from`')
  if (to > now) throw refused('/to', 'lies in the future', 'What is to come fires by itself')
  const floor = timeOf((await readInstallation(database)).floorId)
  if (from < floor) {
    throw new CarillonError('OCCURRENCE_TOO_OLD', {
      pointer: '/from',
      message: `${new Date(from).toISOString()} lies before the history that is kept`,
      hint: `Begin at ${new Date(floor).toISOString()} or later`,
    })
  }
  return { jobId, from, to, includeSkipped, concurrency }
}

export function recurs({ definition }: JobRecord): boolean {
  return definition.schedule !== null || definition.interval !== null
}

/** The next fills after `position`, at most `room`. `over`: nothing is left after them. */
export async function planStretch(
  database: Database,
  job: JobRecord,
  { params, position, room }: { params: BackfillParams; position: number | null; room: number },
): Promise<BackfillPlan & { over: boolean }> {
  const { definition } = job
  const schedule = scheduleOf(definition, null)
  const bounds = boundsOf(definition)
  // What the schedule has not passed yet is its own to fire, or to record when the job is resumed.
  const end = Math.min(params.to, job.nominal ?? Number.POSITIVE_INFINITY)
  const after = position ?? params.from - 1
  const stretch = upcoming(schedule, bounds, after, stretchLength)
  const occurrences = stretch.filter((nominal) => nominal < end)
  const isLast = stretch.length < stretchLength || occurrences.length < stretch.length
  if (occurrences.length === 0) return { fills: [], passed: 0, position: null, over: true }
  const [recorded, before] = await Promise.all([
    readRecorded(
      database,
      occurrences.map((nominal) => executionIdOf(definition, nominal)),
    ),
    readSkippedBefore(database, definition.jobId, firstIdAt(occurrences[0]!)),
  ])
  const countingOf = await countingsOf(database, job, [before, ...recorded.values().map(({ skipped }) => skipped)])
  const plan = planBackfill({
    ...{ occurrences, recorded, before, includeSkipped: params.includeSkipped, room },
    idOf: (nominal) => executionIdOf(definition, nominal),
    jitterMs: jitterOffsetMs(definition.jobId, definition.jitterSec),
    countingOf,
  })
  return { ...plan, over: isLast && plan.position === occurrences.at(-1) }
}

/** The schedules these rows were counted by; the present one for those that are gone. */
async function countingsOf(
  database: Database,
  { definition, version }: JobRecord,
  rows: readonly (SkippedRow | null)[],
): Promise<(of: number | null) => Counting> {
  const others = rows.flatMap((row) => (row?.version == null || row.version === version ? [] : [row.version]))
  const earlier = await readVersions(database, definition.jobId, [...new Set(others)])
  return (of) => {
    const counted = earlier.get(of ?? version) ?? definition
    const schedule = scheduleOf(counted, null)
    const bounds = boundsOf(counted)
    return {
      jitterMs: jitterOffsetMs(counted.jobId, counted.jitterSec),
      next: (nominal) => nextWithin(schedule, bounds, nominal),
      previous: (first, nominal) => previousWithin(schedule, bounds, first, nominal) ?? first,
      count: (first, nominal) => countWithin(schedule, bounds, first - 1, nominal - 1),
    }
  }
}

/** How many occurrences a backfill would create, counted up to a bound. */
export async function countMissing(
  database: Database,
  job: JobRecord,
  params: BackfillParams,
): Promise<{ count: number; exact: boolean }> {
  let count = passedInPause(job, params)
  const most = firesLeft(job)
  let position: number | null = null
  for (let i = 0; i < mostStretches; i++) {
    const plan: BackfillPlan & { over: boolean } = await planStretch(database, job, {
      params,
      position,
      room: Number.POSITIVE_INFINITY,
    })
    count += plan.fills.length
    if (plan.over || count >= most) return { count: Math.min(count, most), exact: true }
    position = plan.position
  }
  return { count, exact: false }
}

export function firesLeft({ definition, fires }: JobRecord): number {
  return definition.maxFires === null ? Number.POSITIVE_INFINITY : Math.max(0, definition.maxFires - fires)
}

/** What has passed since a job was paused is as good as SKIPPED; it is put on record when the backfill begins. */
function passedInPause(job: JobRecord, { from, to, includeSkipped }: BackfillParams): number {
  if (job.state !== 'PAUSED' || job.nominal === null || !includeSkipped) return 0
  const { definition } = job
  const first = Math.max(from, job.nominal)
  return first >= to ? 0 : countWithin(scheduleOf(definition, null), boundsOf(definition), first - 1, to - 1)
}
