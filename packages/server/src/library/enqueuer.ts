/**
 * Submissions: due now (written with whatever else arrives), later (a one-shot job until it fires), or in a transaction of
 * the caller's own (one row there, fired after the commit). Answers the execution's id in all three cases.
 */
import { defaults, type ExecutionPolicy, limits } from '@carillon/contract'
import { submissionId } from '../domain/identity.ts'
import { requireKept } from '../jobs/kept.ts'
import { checkPolicy, storedPolicy } from '../jobs/policy.ts'
import { KnownPools } from '../jobs/pools.ts'
import { Problems } from '../jobs/validate.ts'
import type { Engine } from '../main.ts'
import type { Submission } from '../store/executions/submit.ts'
import { laneOf } from '../store/rows.ts'
import { runIn, type Transaction } from './transaction.ts'

export interface EnqueueOptions extends ExecutionPolicy {
  tenant?: string
  name?: string
  /** When to run. Left out: now. */
  runAt?: string | number | Date
  delayMs?: number
  /** The caller's own transaction: the execution exists if and only if it commits. */
  tx?: Transaction
}

export interface Target {
  pool: string
  name: string
}

const longestDelayMs = 100 * 366 * 86_400_000

export class Enqueuer {
  readonly #engine: Engine
  readonly #pools: KnownPools

  constructor(engine: Engine) {
    this.#engine = engine
    this.#pools = new KnownPools(engine.database)
  }

  /** `payload` is JSON text. */
  async enqueue(target: Target, tenant: string, payload: string, options: EnqueueOptions): Promise<string> {
    const now = this.#engine.clock.now()
    const runAt = checkedRunAt(options, tenant, now)
    await this.#pools.require(target.pool)
    if (options.tx) return enqueueIn(options.tx, target, tenant, payload, runAt, options)
    if (runAt > now) return this.#enqueueLater(target, tenant, payload, runAt, options)
    if (runAt < now) await requireKept(this.#engine.database, runAt)
    const submission = submissionOf(target, tenant, payload, Math.floor(runAt), options)
    await this.#engine.submitter.submit(submission)
    return submission.executionId
  }

  /** All in one transaction, due now. */
  async enqueueMany(target: Target, tenant: string, payloads: string[], options: EnqueueOptions): Promise<string[]> {
    const now = Math.floor(this.#engine.clock.now())
    checkedRunAt(options, tenant, now)
    await this.#pools.require(target.pool)
    const submissions = payloads.map((payload) => submissionOf(target, tenant, payload, now, options))
    await this.#engine.submitter.submitAll(submissions)
    return submissions.map(({ executionId }) => executionId)
  }

  async #enqueueLater(
    target: Target,
    tenant: string,
    payload: string,
    runAt: number,
    options: EnqueueOptions,
  ): Promise<string> {
    const { tx: _tx, delayMs: _delay, tenant: _tenant, ...rest } = options
    const where = { pool: target.pool, handler: target.name }
    const { job } = await this.#engine.jobs.put(tenant, { ...rest, type: 'ONE_SHOT', runAt, target: where }, payload)
    return job.definition.job_id
  }
}

function checkedRunAt(options: EnqueueOptions, tenant: string, now: number): number {
  const problems = new Problems()
  checkPolicy(problems, options)
  problems.text('/tenant', tenant, limits.nameLength)
  if (options.name !== undefined) problems.text('/name', options.name, limits.nameLength)
  problems.integer('/delayMs', options.delayMs, { min: 0, max: longestDelayMs })
  const runAt = problems.instant('/runAt', options.runAt)
  if (runAt !== null && options.delayMs !== undefined) problems.add('/delayMs', 'cannot be given beside runAt')
  problems.throwIfAny()
  return runAt ?? now + (options.delayMs ?? 0)
}

function submissionOf(
  target: Target,
  tenant: string,
  payload: string,
  runAt: number,
  options: EnqueueOptions,
): Submission {
  return {
    executionId: submissionId(runAt),
    tenant,
    name: options.name ?? null,
    pool: target.pool,
    lane: laneOf(options.priority ?? defaults.priority),
    handler: target.name,
    runAt,
    payload,
    policy: storedPolicy(options),
    labels: options.labels ?? null,
    traceparent: options.traceparent ?? null,
  }
}

async function enqueueIn(
  tx: Transaction,
  target: Target,
  tenant: string,
  payload: string,
  runAt: number,
  options: EnqueueOptions,
): Promise<string> {
  const rows = await runIn(tx)<{ id: string }>(enqueueSql, [
    target.name,
    payload,
    target.pool,
    tenant,
    options.priority ?? defaults.priority,
    new Date(runAt),
    json(storedPolicy(options)),
    json(options.labels),
    options.traceparent ?? null,
    options.name ?? null,
  ])
  return rows[0]!.id
}

const enqueueSql = `
  select carillon.enqueue($1::text, $2::json, $3::text, $4::text, $5::text, $6::timestamptz, $7::jsonb, $8::jsonb, $9::text,
    $10::text) id`

function json(value: object | null | undefined): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value)
}
