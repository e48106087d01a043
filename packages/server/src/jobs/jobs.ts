/**
 * Jobs: created, changed, paused, resumed, triggered, deleted. Every change is computed from what was read and written
 * under the job's lock only if that still holds; if a fire or another change came between, it is computed anew.
 */
import { CarillonError, defaults, type JobInput } from '@carillon/contract'
import type { Flow } from '../domain/fairness.ts'
import { timeOf } from '../domain/identity.ts'
import type { Clock } from '../lib/clock.ts'
import type { Activity } from '../observability/activity.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { cancel } from '../store/executions/cancel.ts'
import type { ExecutionRecord } from '../store/executions/read.ts'
import { claimAnswer, entryOf, type Once } from '../store/idempotency/answers.ts'
import { type AuditNote, changeJob, type JobChange, readUnfinished } from '../store/jobs/change.ts'
import { createWork } from '../store/jobs/create.ts'
import type { JobDefinition } from '../store/jobs/definition.ts'
import { readJob, readJobByKey } from '../store/jobs/read.ts'
import { triggerJob } from '../store/jobs/trigger.ts'
import { readInstallation } from '../store/partitions/manage.ts'
import { iso, type JobRecord } from '../store/rows.ts'
import { readDefaultJitter } from '../store/tenants/tenants.ts'
import { changedRecord, type Moment, paused, redefined, removed, resumed, sameDefinition } from './change.ts'
import { defineJob, saysNoJitter } from './define.ts'
import { type Follower, requireFollowed } from './followed.ts'
import { requireGraph } from './graphs.ts'
import { requireKept } from './kept.ts'
import { KnownLimits } from './known-limits.ts'
import { bornRecord, newJob } from './new-job.ts'
import type { KnownPools } from './pools.ts'
import { jobNotFound } from './reference.ts'
import { builtInOf, placeOf, type TargetRules } from './target.ts'
import { triggeredExecution } from './triggered.ts'

export interface JobsOptions {
  database: Database
  signals: Signals
  clock: Clock
  tag: (flows: readonly Flow[]) => Promise<number[]>
  pools: KnownPools
  targets: TargetRules
  /** Called after a commit that moved the schedules of these jobs. */
  onMoved?: (jobIds: readonly string[]) => void
  activity?: Activity
}

export interface PutJob {
  job: JobRecord
  what: 'CREATED' | 'UPDATED' | 'UNCHANGED'
}

/** A definition that is asked for. */
export interface RequestedDefinition {
  input: JobInput
  /** JSON text. */
  payload: string | null
}

/** Who changes a job, and from which version on: another one is refused. */
export interface By {
  actor: string
  version?: number
  /** Kept in the audit. */
  detail?: object
  /** The request, if it must not be done twice. */
  once?: Once<PutJob>
}

export interface TriggerOptions {
  /** JSON text instead of the job's own payload. */
  payload: string | null
  traceparent: string | null
  actor: string
  once?: Once<ExecutionRecord>
}

export interface Triggered {
  execution: ExecutionRecord
  /** SKIP: overlap forbids it, and it is recorded as SKIPPED. */
  verdict: 'READY' | 'WAIT' | 'SKIP'
}

const maxTries = 50

export class Jobs {
  readonly #options: JobsOptions
  readonly #limits: KnownLimits

  constructor(options: JobsOptions) {
    this.#options = options
    this.#limits = new KnownLimits(options)
  }

  /** Creates a job. With a `key` that exists, the same definition changes nothing and another one updates the job. */
  async put(tenant: string, input: JobInput, payload: string | null, by: By): Promise<PutJob> {
    const { database, clock, signals } = this.#options
    const pool = await this.require(tenant, input)
    const tenantJitterSec = await this.tenantJitterOf(tenant, input)
    for (let tries = 0; tries < maxTries; tries++) {
      const existing = input.key === undefined ? null : await readJobByKey(database, tenant, input.key)
      if (existing) {
        const updated = this.update(tenant, existing.definition.jobId, () => ({ input, payload }), by)
        const put = await updated.catch(unlessGone)
        if (put) return put
      }
      const job = newJob(input, { tenant, payload, now: clock.now(), pool, tenantJitterSec })
      if (job.nominal !== null) await requireKept(database, job.nominal)
      const made: PutJob = { job: bornRecord(job), what: 'CREATED' }
      const entry = await entryOf(by.once, made)
      // If not, a concurrent request with the same key was faster.
      if (!(await createWork(database, { jobs: [job], actor: by.actor, entry }))) continue
      this.#options.onMoved?.([job.definition.jobId])
      if (job.due !== null) signals.publish({ kind: 'DUE', at: job.due })
      return made
    }
    throw contention()
  }

  /** Gives a job another definition: `requested` says which, from what it is now. */
  async update(
    tenant: string,
    jobId: string,
    requested: (job: JobRecord) => RequestedDefinition,
    by: By,
  ): Promise<PutJob> {
    let what: PutJob['what'] = 'UNCHANGED'
    const job = await this.#change(tenant, jobId, { ...by, action: 'job.updated' }, async (job) => {
      const { input, payload } = requested(job)
      const { key } = job.definition
      const pool = await this.require(tenant, input, { jobId, key })
      const now = this.#options.clock.now()
      const before = job.definition
      const tenantJitterSec = await this.tenantJitterOf(tenant, input)
      const options = { jobId, tenant, payload, now, anchor: before.anchor, before, tenantJitterSec }
      const definition = { ...defineJob(input, options), pool }
      if (input.type === 'ONE_SHOT' && input.runAt === undefined) {
        definition.runAt = job.definition.runAt ?? iso(now)
        definition.runAtLocal = job.definition.runAtLocal
      }
      what = sameDefinition(definition, job.definition) ? 'UNCHANGED' : 'UPDATED'
      return what === 'UNCHANGED' ? null : this.#redefine(job, definition)
    })
    return { job, what }
  }

  /** Occurrences pass unfired until `resume`, which records them as SKIPPED (PAUSED). */
  pause(tenant: string, jobId: string, by: By): Promise<JobRecord> {
    return this.#change(tenant, jobId, { ...by, action: 'job.paused' }, async (job) => paused(job))
  }

  resume(tenant: string, jobId: string, by: By): Promise<JobRecord> {
    const how = { ...by, action: 'job.resumed' }
    return this.#change(tenant, jobId, how, async (job) => resumed(job, await this.#moment()))
  }

  /** The job fires no more; what is PENDING of it is cancelled, what runs only if asked for. */
  async remove(tenant: string, jobId: string, by: By & { cancelRunning?: boolean }): Promise<void> {
    const { database, signals } = this.#options
    const { cancelRunning: running = false, actor, version } = by
    const how = { actor, version, action: 'job.deleted', detail: { cancelRunning: running } }
    const { definition } = await this.#change(tenant, jobId, how, async (job) => removed(job, await this.#moment()))
    const ids = await readUnfinished(database, jobId, { running })
    const cancelled = ids.length === 0 ? [] : await cancel(database, ids, { reason: 'JOB_DELETED', actor })
    const ended = cancelled.filter(({ verdict }) => verdict === 'CANCELLED').map(() => definition)
    if (ended.length > 0) this.#options.activity?.ended('CANCELLED', ended)
    for (const { workerId, executionId, fence, verdict } of cancelled) {
      if (verdict !== 'FLAGGED') continue
      signals.publish({ kind: 'CANCEL', workerId: workerId!, executionId, fence: fence!, reason: 'CANCELLED' })
    }
  }

  /** Runs the job now, apart from its schedule; a paused one too. */
  async trigger(tenant: string, jobId: string, options: TriggerOptions): Promise<Triggered> {
    const { database, clock, signals } = this.#options
    const { payload, traceparent, actor, once } = options
    for (let tries = 0; tries < maxTries; tries++) {
      const job = await this.#read(tenant, jobId)
      const { pool, lane } = job.definition
      const [tag] = await this.#options.tag([{ pool, lane, tenant }])
      const execution = triggeredExecution(job, { at: Math.floor(clock.now()), payload, traceparent })
      const { executionId, dueAt: at } = execution
      const entry = await entryOf(once, execution)
      const asked = { jobId, version: job.version, executionId, at, tag: tag!, payload, traceparent, actor, entry }
      const verdict = await triggerJob(database, asked)
      if (verdict === 'AGAIN') continue
      this.#options.activity?.created('TRIGGER', [job.definition])
      if (verdict === 'SKIP') this.#options.activity?.ended('SKIPPED', [job.definition])
      if (verdict === 'READY') signals.publish({ kind: 'READY', pool, lane, tag: tag! })
      return { execution, verdict }
    }
    throw contention()
  }

  /**
   * The pool must be there, and the limits, and the job that it follows, and the operator must allow a built-in target. Answers what the queue tables
   * call the pool.
   */
  async require(tenant: string, input: JobInput, follower: Follower = {}): Promise<string> {
    await this.requireFollowed(tenant, input, follower)
    await this.requireLimits(tenant, input)
    return this.requirePlace(tenant, input)
  }

  async requireFollowed(tenant: string, { type, after, key }: JobInput, follower: Follower = {}): Promise<void> {
    if (type === 'AFTER' && after) await requireFollowed(this.#options.database, tenant, after, { key, ...follower })
  }

  async requireLimits(tenant: string, { limits }: Pick<JobInput, 'limits'>): Promise<void> {
    if (limits !== undefined) await this.#limits.require(tenant, limits)
  }

  async requirePlace(tenant: string, { target }: Pick<JobInput, 'target'>): Promise<string> {
    const builtIn = target && builtInOf(target)
    if (!builtIn) return this.#options.pools.require(tenant, target?.pool ?? defaults.pool)
    this.#options.targets.check(builtIn, tenant)
    if (builtIn.dag !== undefined) await requireGraph(this.#options.database, tenant, builtIn.dag)
    return placeOf(target).pool
  }

  /** What the tenant's schedules have that say no jitter; asked for only by such. */
  async tenantJitterOf(tenant: string, input: JobInput): Promise<number> {
    return saysNoJitter(input) ? ((await readDefaultJitter(this.#options.database, tenant)) ?? 0) : 0
  }

  async #redefine(job: JobRecord, definition: JobDefinition): Promise<JobChange> {
    const { database } = this.#options
    const limited = job.definition.overlap === 'ALLOW' && definition.overlap !== 'ALLOW'
    const live = limited ? await readUnfinished(database, definition.jobId, { running: true }) : null
    const change = redefined(job, definition, live, await this.#moment())
    if (change.nominal !== null) await requireKept(database, change.nominal)
    return change
  }

  async #moment(): Promise<Moment> {
    const { database, clock } = this.#options
    return { now: clock.now(), floor: timeOf((await readInstallation(database)).floorId) }
  }

  /** Computes and writes until nothing comes between. A version that is asked for is compared at every try. */
  async #change(
    tenant: string,
    jobId: string,
    { version, once, ...audit }: By & AuditNote,
    compute: (job: JobRecord) => Promise<JobChange | null>,
  ): Promise<JobRecord> {
    const { database, signals } = this.#options
    for (let tries = 0; tries < maxTries; tries++) {
      const job = await this.#read(tenant, jobId, version)
      const change = await compute(job)
      if (change === null) {
        const entry = await entryOf(once, { job, what: 'UNCHANGED' })
        if (entry) await claimAnswer(database, entry)
        return job
      }
      const entry = await entryOf(once, { job: changedRecord(job, change, this.#options.clock.now()), what: 'UPDATED' })
      if (!(await changeJob(database, job, change, audit, entry))) continue
      this.#options.onMoved?.([jobId])
      if (change.due !== null) signals.publish({ kind: 'DUE', at: change.due })
      return (await readJob(database, tenant, jobId)) ?? { ...job, state: change.state, nominal: null, due: null }
    }
    throw contention()
  }

  async #read(tenant: string, jobId: string, version?: number): Promise<JobRecord> {
    const job = await readJob(this.#options.database, tenant, jobId)
    if (!job) throw jobNotFound(jobId)
    if (version !== undefined && job.version !== version) throw versionMismatch(job.version, version)
    return job
  }
}

export function versionMismatch(current: number, asked: number): CarillonError {
  return new CarillonError('VERSION_MISMATCH', {
    message: `the job is at version ${current}, not ${asked}`,
    hint: 'Read it again and repeat the change on what it is now',
  })
}

function unlessGone(error: unknown): null {
  if (error instanceof CarillonError && error.code === 'JOB_NOT_FOUND') return null
  throw error
}

function contention(): CarillonError {
  return new CarillonError('STATE_CONFLICT', { message: 'the job keeps changing', hint: 'Try again' })
}
