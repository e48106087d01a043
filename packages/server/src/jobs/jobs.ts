/**
 * Jobs: created, changed, paused, resumed, triggered, deleted. Every change is computed from what was read and written
 * under the job's lock only if that still holds; if a fire or another change came between, it is computed anew.
 */
import { isDeepStrictEqual } from 'node:util'
import { CarillonError, defaults, type JobInput } from '@carillon/contract'
import type { Flow } from '../domain/fairness.ts'
import { newId, submissionId, timeOf } from '../domain/identity.ts'
import { jitterOffsetMs } from '../domain/jitter.ts'
import { missedWhilePaused } from '../domain/misfire.ts'
import { nextWithin } from '../domain/schedule.ts'
import type { Clock } from '../lib/clock.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { cancel } from '../store/executions/cancel.ts'
import { boundsOf, executionIdOf, scheduleOf } from '../store/job-schedule.ts'
import { changeJob, type JobChange, readUnfinished } from '../store/jobs/change.ts'
import { createJobs } from '../store/jobs/create.ts'
import { readJob, readJobByKey } from '../store/jobs/read.ts'
import { type TriggerVerdict, triggerJob } from '../store/jobs/trigger.ts'
import { readInstallation } from '../store/partitions/manage.ts'
import type { JobRecord, JobRow } from '../store/rows.ts'
import { defineJob, firstOccurrence, nominalAfter } from './define.ts'
import { requireKept } from './kept.ts'
import type { KnownPools } from './pools.ts'
import { builtInOf, type TargetRules } from './target.ts'

export interface JobsOptions {
  database: Database
  signals: Signals
  clock: Clock
  tag: (flows: readonly Flow[]) => Promise<number[]>
  pools: KnownPools
  targets: TargetRules
}

export interface PutJob {
  job: JobRecord
  what: 'CREATED' | 'UPDATED' | 'UNCHANGED'
}

const maxTries = 50

export class Jobs {
  readonly #options: JobsOptions

  constructor(options: JobsOptions) {
    this.#options = options
  }

  /** Creates a job. With a `key` that exists, the same definition changes nothing and another one updates the job. */
  async put(tenant: string, input: JobInput, payload: string | null): Promise<PutJob> {
    const { database, clock, signals } = this.#options
    await this.#require(tenant, input)
    for (let tries = 0; tries < maxTries; tries++) {
      const existing = input.key === undefined ? null : await readJobByKey(database, tenant, input.key)
      if (existing) return this.#update(existing, input, payload)
      const now = clock.now()
      const definition = defineJob(input, { jobId: newId(Math.floor(now)), tenant, payload, now })
      const nominal = firstOccurrence(definition, now)
      if (input.type === 'ONE_SHOT' || input.type === 'DELAYED') definition.job_id = newId(nominal)
      const due = nominal + jitterOffsetMs(definition.job_id, definition.jitter_sec)
      await requireKept(database, nominal)
      const created = await createJobs(database, [{ definition, nominal, due }])
      if (!created.has(definition.job_id)) continue // a twin with the same key was faster
      signals.publish({ kind: 'DUE', at: due })
      const job = await readJob(database, tenant, definition.job_id)
      return {
        what: 'CREATED',
        job: job ?? {
          definition,
          version: 1,
          state: 'ACTIVE',
          shard: 0,
          nominal,
          due,
          fires: 0,
          createdAt: now,
          updatedAt: now,
        },
      }
    }
    throw contention()
  }

  /** Replaces a job's definition. */
  async update(
    tenant: string,
    jobId: string,
    input: JobInput,
    payload: string | null,
    version?: number,
  ): Promise<PutJob> {
    const existing = await this.#read(tenant, jobId, version)
    await this.#require(tenant, input)
    return this.#update(existing, input, payload)
  }

  /** Occurrences pass unfired until `resume`, which records them as SKIPPED (PAUSED). */
  async pause(tenant: string, jobId: string): Promise<void> {
    await this.#change(tenant, jobId, async (job) => {
      if (job.state === 'PAUSED') return null
      if (job.state !== 'ACTIVE') throw conflict(job, 'pause')
      return { definition: null, state: 'PAUSED', nominal: job.nominal, due: null, live: null, skipped: [] }
    })
  }

  async resume(tenant: string, jobId: string): Promise<void> {
    await this.#change(tenant, jobId, async (job) => {
      if (job.state === 'ACTIVE') return null
      if (job.state !== 'PAUSED') throw conflict(job, 'resume')
      const { definition, nominal } = job
      const jitterMs = jitterOffsetMs(definition.job_id, definition.jitter_sec)
      const { missed, next } = missedWhilePaused(
        scheduleOf(definition, nominal),
        boundsOf(definition),
        nominal!,
        this.#options.clock.now(),
        jitterMs,
      )
      const floor = timeOf((await readInstallation(this.#options.database)).floorId)
      const first = missed && Math.max(missed.first, floor)
      const skipped =
        missed === null || first === null || missed.last < floor
          ? []
          : [
              {
                id: executionIdOf(definition, first),
                nominal: first,
                due: first + jitterMs,
                reason: missed.reason,
                last: missed.last,
                count: missed.count,
              },
            ]
      const due = next === null ? null : next + jitterMs
      return {
        definition: null,
        state: next === null ? 'COMPLETED' : 'ACTIVE',
        nominal: next,
        due,
        live: null,
        skipped,
      }
    })
  }

  /** The job fires no more; what is PENDING of it is cancelled, what runs only if asked for. */
  async remove(tenant: string, jobId: string, options: { cancelRunning?: boolean; actor: string }): Promise<void> {
    const { database } = this.#options
    const gone = (): JobChange => ({
      definition: null,
      state: 'DELETED',
      nominal: null,
      due: null,
      live: null,
      skipped: [],
    })
    await this.#change(tenant, jobId, async () => gone())
    const why = { reason: 'JOB_DELETED', actor: options.actor }
    const ids = await readUnfinished(database, jobId, { running: options.cancelRunning ?? false })
    for (const { workerId, executionId, fence, verdict } of ids.length === 0 ? [] : await cancel(database, ids, why)) {
      if (verdict !== 'FLAGGED') continue
      this.#options.signals.publish({
        kind: 'CANCEL',
        workerId: workerId!,
        executionId,
        fence: fence!,
        reason: 'CANCELLED',
      })
    }
  }

  /** Runs the job now, apart from its schedule. */
  async trigger(
    tenant: string,
    jobId: string,
    options: { payload: string | null; traceparent: string | null },
  ): Promise<{ executionId: string; verdict: Exclude<TriggerVerdict, null> }> {
    const { database, clock, signals } = this.#options
    const { definition } = await this.#read(tenant, jobId)
    const { pool, lane } = definition
    const [tag] = await this.#options.tag([{ pool, lane, tenant }])
    const at = Math.floor(clock.now())
    const executionId = submissionId(at)
    const verdict = await triggerJob(database, { jobId, executionId, at, tag: tag!, ...options })
    if (verdict === null) throw notFound(jobId)
    signals.publish({ kind: 'READY', pool, lane, tag: tag! })
    return { executionId, verdict }
  }

  /** The pool must be there, and the operator must allow a built-in target. */
  async #require(tenant: string, { target }: JobInput): Promise<void> {
    const builtIn = target && builtInOf(target)
    if (builtIn) this.#options.targets.check(builtIn)
    else await this.#options.pools.require(tenant, target?.pool ?? defaults.pool)
  }

  async #update(seen: JobRecord, input: JobInput, payload: string | null): Promise<PutJob> {
    const { tenant, job_id: jobId } = seen.definition
    let what: PutJob['what'] = 'UNCHANGED'
    const job = await this.#change(tenant, jobId, async (job) => {
      const now = this.#options.clock.now()
      const definition = defineJob(input, { jobId, tenant, payload, now, anchor: job.definition.anchor })
      if (input.type === 'ONE_SHOT' && input.runAt === undefined) definition.run_at = job.definition.run_at
      if (isDeepStrictEqual(normal(definition), normal(job.definition))) {
        what = 'UNCHANGED'
        return null
      }
      what = 'UPDATED'
      return this.#redefine(job, definition, now)
    })
    return { job, what }
  }

  /** Where the schedule stands after a change of the definition. */
  async #redefine(job: JobRecord, definition: JobRow, now: number): Promise<JobChange> {
    const limited = job.definition.overlap === 'ALLOW' && definition.overlap !== 'ALLOW'
    const live = limited ? await readUnfinished(this.#options.database, definition.job_id, { running: true }) : null
    const jitterMs = jitterOffsetMs(definition.job_id, definition.jitter_sec)
    const state = job.state === 'COMPLETED' ? 'ACTIVE' : job.state
    const skipped: JobChange['skipped'] = []
    let nominal: number | null
    if (sameTimes(job.definition, definition) && job.nominal !== null) {
      nominal = job.nominal
    } else if (job.nominal !== null && job.nominal <= now && occursAt(definition, job.nominal)) {
      nominal = job.nominal // its time has come, it has not fired yet, and it is still an occurrence
    } else {
      nominal = nominalAfter(definition, now)
      if (job.nominal !== null && job.nominal <= now && job.state === 'ACTIVE') {
        const id = executionIdOf(job.definition, job.nominal)
        const due = job.due ?? job.nominal
        skipped.push({ id, nominal: job.nominal, due, reason: 'EDITED', last: null, count: null })
      }
    }
    if (nominal === null) firstOccurrence(definition, now) // throws: says that there is nothing to come
    await requireKept(this.#options.database, nominal!)
    return { definition, state, nominal, due: state === 'PAUSED' ? null : nominal! + jitterMs, live, skipped }
  }

  async #change(
    tenant: string,
    jobId: string,
    compute: (job: JobRecord) => Promise<JobChange | null>,
  ): Promise<JobRecord> {
    const { database, signals } = this.#options
    for (let tries = 0; tries < maxTries; tries++) {
      const job = await this.#read(tenant, jobId)
      const change = await compute(job)
      if (change === null) return job
      if (!(await changeJob(database, job, change))) continue
      if (change.due !== null) signals.publish({ kind: 'DUE', at: change.due })
      return (await readJob(database, tenant, jobId)) ?? { ...job, state: change.state, nominal: null, due: null }
    }
    throw contention()
  }

  async #read(tenant: string, jobId: string, version?: number): Promise<JobRecord> {
    const job = await readJob(this.#options.database, tenant, jobId)
    if (!job) throw notFound(jobId)
    if (version !== undefined && job.version !== version) {
      throw new CarillonError('VERSION_MISMATCH', {
        message: `the job is at version ${job.version}, not ${version}`,
        hint: 'Read it again and repeat the change on what it is now',
      })
    }
    return job
  }
}

function sameTimes(a: JobRow, b: JobRow): boolean {
  const times = ({
    type,
    run_at,
    delay_ms,
    cron,
    interval,
    timezone,
    dst_gap,
    dst_overlap,
    anchor,
    start_at,
    end_at,
  }: JobRow) => [
    type,
    instant(run_at),
    delay_ms,
    cron,
    interval,
    timezone,
    dst_gap,
    dst_overlap,
    ...[anchor, start_at, end_at].map(instant),
  ]
  return isDeepStrictEqual(times(a), times(b))
}

function occursAt(job: JobRow, nominal: number): boolean {
  return job.type !== 'DELAYED' && nextWithin(scheduleOf(job, null), boundsOf(job), nominal - 1) === nominal
}

/** Two writings of one instant are the same. */
function normal(job: JobRow): object {
  const { run_at, anchor, start_at, end_at, ...rest } = job
  return { ...rest, times: [run_at, anchor, start_at, end_at].map(instant) }
}

function instant(text: string | null): number | null {
  return text === null ? null : Date.parse(text)
}

function notFound(jobId: string): CarillonError {
  return new CarillonError('JOB_NOT_FOUND', {
    message: `there is no job ${jobId}`,
    hint: 'It may have been deleted, or a one-shot that has fired',
  })
}

function conflict(job: JobRecord, verb: string): CarillonError {
  return new CarillonError('STATE_CONFLICT', { message: `a job that is ${job.state} cannot ${verb}` })
}

function contention(): CarillonError {
  return new CarillonError('STATE_CONFLICT', { message: 'the job keeps changing', hint: 'Try again' })
}
