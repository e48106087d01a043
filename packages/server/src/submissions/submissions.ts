/**
 * Submissions: due now (written with whatever else arrives, each answered after its commit) or later (a one-shot job until
 * it fires). Answers the execution's id in both cases.
 */
import { defaults, type ExecutionPolicy, limits, ranges } from '@carillon/contract'
import type { Submitter } from '../admission/submitter.ts'
import { submissionId } from '../domain/identity.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { requireKept } from '../jobs/kept.ts'
import { checkPolicy, storedPolicy } from '../jobs/policy.ts'
import type { KnownPools } from '../jobs/pools.ts'
import { Problems } from '../jobs/validate.ts'
import type { Clock } from '../lib/clock.ts'
import type { Database } from '../store/database.ts'
import type { Submission } from '../store/executions/submit.ts'
import { laneOf } from '../store/rows.ts'

export interface SubmissionOptions extends ExecutionPolicy {
  name?: string
  /** When to run. Left out: now. */
  runAt?: string | number | Date
  delayMs?: number
}

export interface SubmissionTarget {
  pool: string
  handler: string
}

export interface SubmissionsOptions {
  database: Database
  clock: Clock
  jobs: Jobs
  pools: KnownPools
  submitter: Submitter
}

export class Submissions {
  readonly #options: SubmissionsOptions

  constructor(options: SubmissionsOptions) {
    this.#options = options
  }

  /** `payload` is JSON text. */
  async submit(target: SubmissionTarget, tenant: string, payload: string, options: SubmissionOptions): Promise<string> {
    const { clock, database, jobs, submitter } = this.#options
    const now = clock.now()
    const runAt = await this.runAt(target, tenant, options)
    if (runAt > now) {
      const { delayMs: _, ...rest } = options
      const { job } = await jobs.put(tenant, { ...rest, type: 'ONE_SHOT', runAt, target }, payload)
      return job.definition.job_id
    }
    if (runAt < now) await requireKept(database, runAt)
    const submission = submissionOf(target, tenant, payload, Math.floor(runAt), options)
    await submitter.submit(submission)
    return submission.executionId
  }

  /** All in one transaction, due now. */
  async submitAll(
    target: SubmissionTarget,
    tenant: string,
    payloads: string[],
    options: SubmissionOptions,
  ): Promise<string[]> {
    const now = Math.floor(await this.runAt(target, tenant, options))
    const submissions = payloads.map((payload) => submissionOf(target, tenant, payload, now, options))
    await this.#options.submitter.submitAll(submissions)
    return submissions.map(({ executionId }) => executionId)
  }

  /** When it is to run, once everything about it has been checked. */
  async runAt(target: SubmissionTarget, tenant: string, options: SubmissionOptions): Promise<number> {
    const problems = new Problems()
    checkPolicy(problems, options)
    problems.text('/tenant', tenant, limits.nameLength)
    if (options.name !== undefined) problems.text('/name', options.name, limits.nameLength)
    problems.integer('/delayMs', options.delayMs, ranges.delayMs)
    const runAt = problems.instant('/runAt', options.runAt)
    if (runAt !== null && options.delayMs !== undefined) problems.add('/delayMs', 'cannot be given beside runAt')
    problems.throwIfAny()
    await this.#options.pools.require(tenant, target.pool)
    return runAt ?? this.#options.clock.now() + (options.delayMs ?? 0)
  }
}

function submissionOf(
  target: SubmissionTarget,
  tenant: string,
  payload: string,
  runAt: number,
  options: SubmissionOptions,
): Submission {
  return {
    executionId: submissionId(runAt),
    tenant,
    name: options.name ?? null,
    pool: target.pool,
    lane: laneOf(options.priority ?? defaults.priority),
    handler: target.handler,
    runAt,
    payload,
    policy: storedPolicy(options),
    labels: options.labels ?? null,
    traceparent: options.traceparent ?? null,
  }
}
