/** Library mode: a whole node inside a Node program, used through typed calls. */
import { CarillonError, defaults, type ExecutionPolicy, type JobInput, type ScheduleInput } from '@carillon/contract'
import {
  ExecutionHandle,
  type HandlerContext,
  type HandlerDefinition,
  type ImplementOptions,
  implementHandler,
  type RegisteredHandler,
  validatePayload,
  Worker,
} from '@carillon/sdk'
import type { EngineSettings } from '../config/engine-config.ts'
import type { EmbeddedPostgres } from '../embedded/index.ts'
import { cursorOf } from '../executions/cursor.ts'
import { type ExecutionView, viewOf } from '../executions/view.ts'
import { type JobView, showJob } from '../jobs/view.ts'
import type { Engine } from '../main.ts'
import type { Logger } from '../observability/logger.ts'
import { readJob } from '../store/jobs/read.ts'
import type { SubmissionOptions } from '../submissions/submissions.ts'
import { directTransport } from '../workers/direct-transport.ts'
import { completeIn } from './complete-in.ts'
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

const waitForeverMs = 2 ** 31 - 1

export class Carillon {
  readonly #engine: Engine
  readonly #logger: Logger
  readonly #tenant: string
  readonly #postgres: EmbeddedPostgres | null
  readonly #settings: EngineSettings
  readonly #handlers: RegisteredHandler[] = []
  #worker: Worker | null = null
  #stopped: Promise<void> | null = null

  /** Use `createCarillon`. */
  constructor(
    engine: Engine,
    parts: { logger: Logger; tenant: string | undefined; postgres: EmbeddedPostgres | null; settings: EngineSettings },
  ) {
    this.#engine = engine
    this.#logger = parts.logger
    this.#tenant = parts.tenant ?? defaults.tenant
    this.#postgres = parts.postgres
    this.#settings = parts.settings
  }

  /** The URL of the database in use; with `embedded`, of the one that was started. */
  get databaseUrl(): string {
    return this.#postgres?.url ?? this.#settings.databaseUrl!
  }

  /**
   * Runs a handler in this process. With a module's URL instead of a function it runs in a thread or process of its own
   * and is killed if it does not stop when it should.
   */
  handle<Input, Payload, Returned, Result>(
    definition: HandlerDefinition<Input, Payload, Returned, Result>,
    ...rest:
      | [code: ((ctx: HandlerContext<Payload, Returned>) => Returned | Promise<Returned>) | URL]
      | [
          options: ImplementOptions,
          code: ((ctx: HandlerContext<Payload, Returned>) => Returned | Promise<Returned>) | URL,
        ]
  ): this {
    if (this.#worker) throw new CarillonError('STATE_CONFLICT', { message: 'handle must be called before start' })
    const [options, code] = rest.length === 1 ? [{}, rest[0]] : rest
    this.#handlers.push(implementHandler(definition, code, options) as RegisteredHandler)
    return this
  }

  /** Brings the schema up to date, joins the installation and begins to run the handlers. */
  async start(): Promise<void> {
    await this.#engine.start()
    if (this.#handlers.length === 0) return
    this.#worker = new Worker({
      transport: directTransport(this.#engine),
      handlers: this.#handlers,
      reportEveryMs: this.#settings.heartbeatEveryMs,
      completeIn,
      completeInModule: new URL('./complete-in.ts', import.meta.url).href,
      logger: this.#logger,
    })
    await this.#worker.start()
  }

  /** Stops leasing, lets handlers end or hands their executions back, and gives up leadership at once. */
  stop(options: { drainSec?: number } = {}): Promise<void> {
    this.#stopped ??= this.#stop(options)
    return this.#stopped
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
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
    const { submissions } = this.#engine
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
    const texts = await Promise.all(payloads.map((payload) => validatePayload(definition, payload)))
    const ids = await this.#engine.submissions.submitAll(targetOf(definition), tenant, texts, rest)
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
    const { job } = await this.#engine.jobs.put(tenant, input, text, { actor: 'library' })
    return showJob(this.#engine.database, job)
  }

  async pause(jobId: string, options: { tenant?: string } = {}): Promise<void> {
    await this.#engine.jobs.pause(options.tenant ?? this.#tenant, jobId, { actor: 'library' })
  }

  async resume(jobId: string, options: { tenant?: string } = {}): Promise<void> {
    await this.#engine.jobs.resume(options.tenant ?? this.#tenant, jobId, { actor: 'library' })
  }

  /** The job fires no more and what is PENDING of it is cancelled. */
  unschedule(jobId: string, options: { tenant?: string; cancelRunning?: boolean } = {}): Promise<void> {
    const { tenant = this.#tenant, cancelRunning } = options
    return this.#engine.jobs.remove(tenant, jobId, { cancelRunning, actor: 'library' })
  }

  /** Runs a job now, apart from its schedule. */
  async trigger(jobId: string, options: { tenant?: string } = {}): Promise<ExecutionHandle<unknown, ExecutionView>> {
    const tenant = options.tenant ?? this.#tenant
    const asked = { payload: null, traceparent: null, actor: 'library' }
    const { execution } = await this.#engine.jobs.trigger(tenant, jobId, asked)
    return this.#handle(execution.executionId, tenant)
  }

  async job(jobId: string, options: { tenant?: string } = {}): Promise<JobView | null> {
    const record = await readJob(this.#engine.database, options.tenant ?? this.#tenant, jobId)
    return record && showJob(this.#engine.database, record)
  }

  async execution(executionId: string, options: { tenant?: string } = {}): Promise<ExecutionView | null> {
    const record = await this.#engine.executions.find(options.tenant ?? this.#tenant, executionId)
    return record && viewOf(record)
  }

  /** The lines that its handler logged. */
  logs(executionId: string, options: { tenant?: string } = {}): Promise<string[]> {
    return this.#engine.executions.logs(options.tenant ?? this.#tenant, executionId)
  }

  /** A job's executions, newest first. */
  async executionsOf(jobId: string, options: { tenant?: string; limit?: number } = {}): Promise<ExecutionView[]> {
    const { tenant = this.#tenant, limit = 10 } = options
    return (await this.#engine.executions.ofJob(tenant, jobId, limit)).map(viewOf)
  }

  /** Dead letters, newest first. */
  async deadLetters(options: { tenant?: string; limit?: number; before?: string } = {}): Promise<ExecutionView[]> {
    const { tenant = this.#tenant, limit = 100, before } = options
    const page = { limit, cursor: before && cursorOf(before) }
    return (await this.#engine.executions.deadLetters(tenant, {}, page)).records.map(viewOf)
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
    return this.#engine.executions.cancel(tenant, executionId, { reason, actor: 'library' })
  }

  /** Brings a dead or cancelled execution back, with all its attempts. */
  async replay(executionId: string, options: { tenant?: string } = {}): Promise<void> {
    await this.#engine.executions.replay(options.tenant ?? this.#tenant, executionId, 'library')
  }

  async #stop(options: { drainSec?: number }): Promise<void> {
    await this.#worker?.stop(options)
    await this.#engine.stop()
    await this.#postgres?.stop()
  }

  #handle<Result>(executionId: string, tenant: string): ExecutionHandle<Result, ExecutionView> {
    return new ExecutionHandle<Result, ExecutionView>(executionId, {
      read: () => this.execution(executionId, { tenant }),
      wait: (waitMs) => this.#engine.ends.wait(executionId, waitMs ?? waitForeverMs),
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
