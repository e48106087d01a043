/** What a program asks of an installation: work, schedules, and what became of them. The tenant's, unless it names another. */
import { CarillonError, defaults, type ExecutionPolicy, type JobInput, type ScheduleInput } from '@carillon/contract'
import { ExecutionHandle, encodeJson, type HandlerDefinition, validatePayload, validatePayloads } from '@carillon/sdk'
import { cursorOf } from '../executions/cursor.ts'
import { type ExecutionView, viewOf } from '../executions/view.ts'
import { type JobView, jobViewOf, showJob } from '../jobs/view.ts'
import type { Engine } from '../main.ts'
import { readJob } from '../store/jobs/read.ts'
import type { SubmissionOptions } from '../submissions/submissions.ts'
import { enqueueIn } from './enqueue-in.ts'
import type { Transaction } from './transaction.ts'

export type ScheduleOptions = ExecutionPolicy &
  Omit<ScheduleInput, 'type' | 'schedule' | 'interval' | 'runAt' | 'delayMs'> & {
    tenant?: string
    name?: string
    /** Names the job in its tenant: the same key again changes the job instead of making another. */
    key?: string
    managedBy?: string
  } & ({ cron: string; every?: never } | { /** ISO 8601 duration. */ every: string; cron?: never })

export interface EnqueueOptions extends SubmissionOptions {
  tenant?: string
  /** The caller's own transaction: the execution exists if and only if it commits. */
  tx?: Transaction
}

export type CreateJobInput = JobInput & { tenant?: string; payload?: unknown }

const waitForeverMs = 2 ** 31 - 1

export class CarillonCalls {
  readonly #engine: Engine
  readonly #tenant: string

  constructor(engine: Engine, tenant: string = defaults.tenant) {
    this.#engine = engine
    this.#tenant = tenant
  }

  protected get engine(): Engine {
    return this.#engine
  }

  /** Submits one execution. Resolves after its commit; with `tx`, after the row is written in that transaction. */
  async enqueue<Input, Payload, Returned, Result>(
    definition: HandlerDefinition<Input, Payload, Returned, Result>,
    payload: NoInfer<Input>,
    options: EnqueueOptions = {},
  ): Promise<ExecutionHandle<Result, ExecutionView>> {
    const tenant = options.tenant ?? this.#tenant
    const text = await validatePayload(definition, payload)
    const target = targetOf(definition)
    const { tenant: _, tx, ...rest } = options
    const { submissions } = this.engine
    if (tx === undefined) return this.#handle(await submissions.submit(target, tenant, text, rest), tenant)
    if (rest.dedupe !== undefined) throw noDedupe()
    const runAt = await submissions.runAt(target, tenant, rest)
    return this.#handle(await enqueueIn(tx, { target, tenant, payload: text, runAt, options: rest }), tenant)
  }

  /** Submits many executions in one transaction. */
  async enqueueMany<Input, Payload, Returned, Result>(
    definition: HandlerDefinition<Input, Payload, Returned, Result>,
    payloads: readonly NoInfer<Input>[],
    options: Omit<EnqueueOptions, 'tx' | 'runAt' | 'delayMs' | 'dedupe'> = {},
  ): Promise<ExecutionHandle<Result, ExecutionView>[]> {
    const { tenant = this.#tenant, ...rest } = options
    const texts = await validatePayloads(definition, payloads)
    const ids = await this.engine.submissions.submitAll(targetOf(definition), tenant, texts, rest)
    return ids.map((executionId) => this.#handle(executionId, tenant))
  }

  /** Creates a recurring job, or changes the one with the same `key`. */
  async schedule<Input, Payload, Returned, Result>(
    definition: HandlerDefinition<Input, Payload, Returned, Result>,
    payload: NoInfer<Input>,
    options: ScheduleOptions,
  ): Promise<JobView> {
    const { tenant = this.#tenant, cron, every, ...rest } = options
    const text = await validatePayload(definition, payload)
    const target = targetOf(definition)
    const input: JobInput =
      cron === undefined
        ? { ...rest, type: 'INTERVAL', interval: every, target }
        : { ...rest, type: 'CRON', schedule: cron, target }
    const { job } = await this.engine.jobs.put(tenant, input, text, { actor: 'library' })
    return showJob(this.engine.database, job)
  }

  /** Creates a job from a definition as the HTTP API takes it; one that is due now runs at once. */
  async createJob(input: CreateJobInput): Promise<JobView> {
    const { tenant = this.#tenant, payload, ...rest } = input
    const text = payload === undefined ? null : encodeJson(payload, 'payload')
    const { job, latest } = await this.engine.submissions.create({ tenant, actor: 'library' }, rest, text)
    return jobViewOf(job, latest)
  }

  async pause(jobId: string, options: { tenant?: string } = {}): Promise<void> {
    await this.engine.jobs.pause(options.tenant ?? this.#tenant, jobId, { actor: 'library' })
  }

  async resume(jobId: string, options: { tenant?: string } = {}): Promise<void> {
    await this.engine.jobs.resume(options.tenant ?? this.#tenant, jobId, { actor: 'library' })
  }

  /** The job fires no more and what is PENDING of it is cancelled. */
  unschedule(jobId: string, options: { tenant?: string; cancelRunning?: boolean } = {}): Promise<void> {
    const { tenant = this.#tenant, cancelRunning } = options
    return this.engine.jobs.remove(tenant, jobId, { cancelRunning, actor: 'library' })
  }

  /** Runs a job now, apart from its schedule. */
  async trigger(jobId: string, options: { tenant?: string } = {}): Promise<ExecutionHandle<unknown, ExecutionView>> {
    const tenant = options.tenant ?? this.#tenant
    const asked = { payload: null, traceparent: null, actor: 'library' }
    const { execution } = await this.engine.jobs.trigger(tenant, jobId, asked)
    return this.#handle(execution.executionId, tenant)
  }

  async job(jobId: string, options: { tenant?: string } = {}): Promise<JobView | null> {
    const record = await readJob(this.engine.database, options.tenant ?? this.#tenant, jobId)
    return record && showJob(this.engine.database, record)
  }

  async execution(executionId: string, options: { tenant?: string } = {}): Promise<ExecutionView | null> {
    const record = await this.engine.executions.findEver(options.tenant ?? this.#tenant, executionId)
    return record && viewOf(record)
  }

  /** The lines that its handler logged. */
  logs(executionId: string, options: { tenant?: string } = {}): Promise<string[]> {
    return this.engine.executions.logs(options.tenant ?? this.#tenant, executionId)
  }

  /** A job's executions, newest first. */
  async executionsOf(jobId: string, options: { tenant?: string; limit?: number } = {}): Promise<ExecutionView[]> {
    const { tenant = this.#tenant, limit = 10 } = options
    return (await this.engine.executions.ofJob(tenant, jobId, limit)).map(viewOf)
  }

  /** Dead letters, newest first. */
  async deadLetters(options: { tenant?: string; limit?: number; before?: string } = {}): Promise<ExecutionView[]> {
    const { tenant = this.#tenant, limit = 100, before } = options
    const page = { limit, cursor: before && cursorOf(before) }
    return (await this.engine.executions.deadLetters(tenant, {}, page)).records.map(viewOf)
  }

  /**
   * One that is to come never fires, a pending one never starts; a running one is told to stop and loses its lease after
   * the grace.
   */
  async cancel(
    executionId: string,
    options: { tenant?: string; reason?: string } = {},
  ): Promise<'CANCELLED' | 'CANCELLING' | 'ENDED'> {
    const { tenant = this.#tenant, reason = 'CANCELLED' } = options
    return this.engine.executions.cancel(tenant, executionId, { reason, actor: 'library' })
  }

  /** Brings a dead or cancelled execution back, with all its attempts. */
  async replay(executionId: string, options: { tenant?: string } = {}): Promise<void> {
    await this.engine.executions.replay(options.tenant ?? this.#tenant, executionId, 'library')
  }

  #handle<Result>(executionId: string, tenant: string): ExecutionHandle<Result, ExecutionView> {
    return new ExecutionHandle<Result, ExecutionView>(executionId, {
      read: () => this.execution(executionId, { tenant }),
      wait: (waitMs) => this.engine.ends.wait(executionId, waitMs ?? waitForeverMs),
    })
  }
}

function noDedupe(): CarillonError {
  return new CarillonError('VALIDATION', {
    pointer: '/dedupe',
    message: 'cannot be given beside tx',
    hint: 'It would hold up others until that transaction ends; enqueue after the commit',
  })
}

function targetOf(definition: { pool: string; name: string }): { pool: string; handler: string } {
  return { pool: definition.pool, handler: definition.name }
}
