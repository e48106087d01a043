/**
 * Takes in work: due now (written in batches, each answered after its commit) or later (a job until
 * it fires). What is answered is made before the commit, so that a request repeated after a lost answer gets the same.
 */
import { type EnqueueOptions, type JobInput, limits } from '@carillon/contract'
import type { TenantQuotas } from '../admission/quotas.ts'
import type { Submitter } from '../admission/submitter.ts'
import { submissionId } from '../domain/identity.ts'
import type { Jobs, PutJob } from '../jobs/jobs.ts'
import { requireKept } from '../jobs/kept.ts'
import { bornRecord, newJob, newTimedJob } from '../jobs/new-job.ts'
import { withLimitKeys } from '../jobs/policy.ts'
import { Problems } from '../jobs/validate.ts'
import type { Clock } from '../lib/clock.ts'
import type { Activity } from '../observability/activity.ts'
import type { Database } from '../store/database.ts'
import { entryOf, type Once } from '../store/idempotency/answers.ts'
import type { NewJob } from '../store/jobs/create.ts'
import { type LatestExecution, readLatest } from '../store/jobs/latest.ts'
import type { JobRecord } from '../store/rows.ts'
import { type BatchItem, createBatch, type Wanted } from './batch.ts'
import { type DedupeAnswer, submitDeduped } from './dedupe.ts'
import { asSubmission, isDue, mayBeSubmission, submissionOf } from './work.ts'

export interface SubmissionTarget {
  pool: string
  handler: string
}

/** Tenant and caller. */
export interface Owner {
  tenant: string
  actor: string
}

export interface Created {
  job: JobRecord
  /** Its execution, if there is one already. */
  latest: LatestExecution | null
  what: PutJob['what']
  dedupe?: DedupeAnswer
}

export interface SubmissionsOptions {
  database: Database
  clock: Clock
  jobs: Jobs
  submitter: Submitter
  /** Left out: nothing is counted. */
  quotas?: Pick<TenantQuotas, 'submit'>
  activity?: Activity
}

export class Submissions {
  readonly #options: SubmissionsOptions

  constructor(options: SubmissionsOptions) {
    this.#options = options
  }

  /** `payload` is JSON text. Throws AnsweredBefore if the request was. */
  create(owner: Owner, input: JobInput, payload: string | null, once?: Once<Created>): Promise<Created> {
    const work = () => this.#create(owner, input, payload, once)
    const { quotas } = this.#options
    if (quotas === undefined) return work()
    return quotas.submit({ tenant: owner.tenant, count: 1 }, work, ({ what }) => (what === 'CREATED' ? 1 : 0))
  }

  async #create(owner: Owner, input: JobInput, payload: string | null, once?: Once<Created>): Promise<Created> {
    const { clock, database, jobs, submitter } = this.#options
    if (input.dedupe !== undefined) return submitDeduped(this.#options, owner, input, payload, { once })
    if (!mayBeSubmission(input)) return this.#put(owner, input, payload, once)
    const now = clock.now()
    const job = newJob(input, { tenant: owner.tenant, payload, now })
    if (!isDue(job, now)) return this.#put(owner, input, payload, once)
    job.definition.pool = await jobs.require(owner.tenant, input)
    if (input.runAt !== undefined) await requireKept(database, job.nominal)
    const made = submitted(asSubmission(job))
    await submitter.submit(submissionOf(job, input), await entryOf(once, made))
    return made
  }

  /** All in one transaction; see createBatch. */
  createAll(
    owner: Owner,
    wanted: Wanted[],
    options: { partial: boolean; once?: Once<BatchItem[]> },
  ): Promise<BatchItem[]> {
    return createBatch(this.#options, owner, wanted, options)
  }

  /** For library mode: returns the id of the execution; with a dedupe key, of the holder. */
  async submit(target: SubmissionTarget, tenant: string, payload: string, options: EnqueueOptions): Promise<string> {
    const input = inputOf(target, tenant, options)
    const { job, dedupe } = await this.create({ tenant, actor: 'library' }, input, payload)
    return dedupe?.executionId ?? job.definition.jobId
  }

  /** All in one transaction, due now. */
  async submitAll(
    target: SubmissionTarget,
    tenant: string,
    payloads: string[],
    options: Omit<EnqueueOptions, 'dedupe'>,
  ): Promise<string[]> {
    const input = inputOf(target, tenant, options)
    const { clock, jobs, submitter, quotas } = this.#options
    const pool = await jobs.require(tenant, input)
    const asked = { tenant, payload: null, payloadsToCome: true, now: clock.now(), pool }
    const one = submissionOf(newTimedJob(input, asked), input)
    const submissions = payloads.map((payload) => ({
      ...{ ...one, executionId: submissionId(one.runAt), payload },
      policy: withLimitKeys(one.policy, payload),
    }))
    const work = () => submitter.submitAll(submissions)
    await (quotas === undefined ? work() : quotas.submit({ tenant, count: submissions.length }, work))
    return submissions.map(({ executionId }) => executionId)
  }

  /** When it is to run, once everything about it has been checked. */
  async runAt(target: SubmissionTarget, tenant: string, payload: string, options: EnqueueOptions): Promise<number> {
    const input = inputOf(target, tenant, options)
    const job = newTimedJob(input, { tenant, payload, now: this.#options.clock.now() })
    await this.#options.jobs.require(tenant, input)
    return job.nominal
  }

  async #put(owner: Owner, input: JobInput, payload: string | null, once?: Once<Created>): Promise<Created> {
    const { tenant, actor } = owner
    const answer = once && (async (put: PutJob) => once.answer(await this.#withLatest(put)))
    const by = { actor, ...(once && { once: { key: once.key, answer: answer! } }) }
    return this.#withLatest(await this.#options.jobs.put(tenant, input, payload, by))
  }

  async #withLatest(put: PutJob): Promise<Created> {
    if (put.what === 'CREATED') return { ...put, latest: null }
    const { jobId } = put.job.definition
    return { ...put, latest: (await readLatest(this.#options.database, [jobId])).get(jobId) ?? null }
  }
}

/** What is due now has fired when it is answered: nothing more is to come. */
export function submitted(job: NewJob): Created {
  const { jobId: executionId } = job.definition
  return {
    job: { ...bornRecord(job), nominal: null, due: null },
    latest: { executionId, state: 'PENDING', startedAt: null },
    what: 'CREATED',
  }
}

function inputOf(target: SubmissionTarget, tenant: string, options: EnqueueOptions): JobInput {
  const problems = new Problems()
  problems.text('/tenant', tenant, limits.nameLength)
  problems.throwIfAny()
  return { ...options, type: options.delayMs === undefined ? 'ONE_SHOT' : 'DELAYED', target }
}
