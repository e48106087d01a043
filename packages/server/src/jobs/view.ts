/** A job as people and programs see it: everything that holds for it, defaults filled in. */
import type { Job, JobVersion, Timed } from '@carillon/contract'
import { isoTime } from '../lib/iso-time.ts'
import type { Database } from '../store/database.ts'
import type { JobDefinition } from '../store/jobs/definition.ts'
import { type LatestExecution, readLatest } from '../store/jobs/latest.ts'
import type { VersionRecord } from '../store/jobs/list-versions.ts'
import { type JobRecord, millis, policyOf, priorityOf } from '../store/rows.ts'
import { targetOf } from './target.ts'

type Instants = 'anchor' | 'runAt' | 'startAt' | 'endAt' | 'nextFireAt' | 'lastRunAt' | 'createdAt' | 'updatedAt'

export type JobView<Time = Date> = Timed<Job, Instants, Time>

/** With what its latest execution says. */
export async function showJob(database: Database, job: JobRecord): Promise<JobView> {
  const { jobId } = job.definition
  return jobViewOf(job, (await readLatest(database, [jobId])).get(jobId))
}

export function jobViewOf(job: JobRecord, latest: LatestExecution | null = null): JobView {
  const { payload } = job.definition
  return { ...frameOf(job, latest, (ms) => new Date(ms)), payload: payload === null ? null : JSON.parse(payload) }
}

/** The same as JSON; see executions/view.ts. */
export function jobJsonOf(job: JobRecord, latest: LatestExecution | null, more: object = {}): string {
  const frame = JSON.stringify({ ...frameOf(job, latest, isoTime), ...more })
  return `${frame.slice(0, -1)},"payload":${job.definition.payload ?? 'null'}}`
}

/** One version of a definition as JSON. */
export function versionJsonOf({ definition, version, since, until, changedBy }: VersionRecord): string {
  const time = (ms: number | null) => (ms === null ? null : isoTime(ms))
  const frame = JSON.stringify({ version, since: time(since), until: time(until), changedBy })
  const text = JSON.stringify(definedOf(definition, isoTime))
  return `${frame.slice(0, -1)},"definition":${text.slice(0, -1)},"payload":${definition.payload ?? 'null'}}}`
}

function frameOf<Time>(
  job: JobRecord,
  latest: LatestExecution | null,
  time: (ms: number) => Time,
): Omit<JobView<Time>, 'payload'> {
  const { definition, due } = job
  const date = (ms: number | null) => (ms === null ? null : time(ms))
  return {
    jobId: definition.jobId,
    tenant: definition.tenant,
    state: job.state,
    version: job.version,
    ...definedOf(definition, time),
    nextFireAt: date(due),
    nextFireLocal: due === null ? null : localTime(due, definition.timezone),
    lastExecutionId: latest?.executionId ?? null,
    lastState: latest?.state ?? null,
    lastRunAt: date(latest?.startedAt ?? null),
    createdAt: time(job.createdAt),
    updatedAt: time(job.updatedAt),
  }
}

type Defined<Time> = Timed<Omit<JobVersion['definition'], 'payload'>, 'anchor' | 'runAt' | 'startAt' | 'endAt', Time>

function definedOf<Time>(definition: JobDefinition, time: (ms: number) => Time): Defined<Time> {
  const policy = definition.policy
  const date = (ms: number | null) => (ms === null ? null : time(ms))
  return {
    key: definition.key,
    name: definition.name,
    managedBy: definition.managedBy,
    labels: definition.labels ?? {},
    type: definition.type,
    schedule: definition.schedule,
    interval: definition.interval,
    anchor: date(millis(definition.anchor)),
    runAt: date(millis(definition.runAt)),
    runAtLocal: definition.runAtLocal,
    delayMs: definition.delayMs,
    after: definition.after,
    timezone: definition.timezone,
    dst: definition.dst,
    dayFields: definition.dayFields,
    startAt: date(millis(definition.startAt)),
    endAt: date(millis(definition.endAt)),
    maxFires: definition.maxFires,
    jitterSec: definition.jitterSec,
    jitterBy: policy?.jitterBy ?? 'JOB',
    misfire: definition.misfire,
    misfireAfterSec: definition.misfireAfterSec,
    maxCatchUp: definition.maxCatchUp,
    graceSec: definition.graceSec,
    overlap: definition.overlap,
    priority: priorityOf(definition.lane),
    ...policyOf(policy),
    deadlineSec: definition.deadlineSec,
    startWithinSec: definition.startWithinSec,
    target: targetOf(definition, policy?.target),
  }
}

function localTime(instant: number, timezone: string): string {
  const zoned = Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timezone)
  return zoned.toPlainDateTime().toString()
}
