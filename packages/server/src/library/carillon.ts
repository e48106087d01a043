/**
 * Library mode: a whole node inside a Node program, used through typed calls.
 */
import {
  CarillonError,
  defaults,
  type ExecutionPolicy,
  type JobInput,
  limits,
  type ScheduleInput,
} from '@carillon/contract'
import {
  type HandlerContext,
  type HandlerDefinition,
  type ImplementOptions,
  implementHandler,
  type RegisteredHandler,
  validatePayload,
  Worker,
} from '@carillon/sdk'
import { type EngineSettings, engineConfig } from '../config/engine-config.ts'
import { submissionId } from '../domain/identity.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../embedded/index.ts'
import { requireKept } from '../jobs/kept.ts'
import { checkPolicy, storedPolicy } from '../jobs/policy.ts'
import { KnownPools } from '../jobs/pools.ts'
import { Problems } from '../jobs/validate.ts'
import { Engine } from '../main.ts'
import { createLogger, type Logger } from '../observability/logger.ts'
import { cancel } from '../store/executions/cancel.ts'
import { readEndings, readExecution, readExecutionsOfJob } from '../store/executions/read.ts'
import { replay } from '../store/executions/replay.ts'
import { withdrawSubmission } from '../store/executions/submit.ts'
import { readJob } from '../store/jobs/read.ts'
import { type JobRecord, laneOf } from '../store/rows.ts'
import { completeIn } from './complete-in.ts'
import { directTransport } from './direct-transport.ts'
import { Ends } from './ends.ts'
import { ExecutionHandle } from './handle.ts'
import { runIn, type Transaction } from './transaction.ts'
import { type ExecutionView, viewOf } from './view.ts'

export interface CarillonOptions extends EngineSettings {
  /** A PostgreSQL of its own, started from an npm package into this directory. Must be asked for. */
  embedded?: { dataDir: string; port?: number }
  tenant?: string
  logger?: Logger
  logLevel?: string
}

export interface EnqueueOptions extends ExecutionPolicy {
  tenant?: string
  name?: string
  /** When to run. Left out: now. */
  runAt?: string | number | Date
  delayMs?: number
  /** The caller's own transaction: the execution exists if and only if it commits. */
  tx?: Transaction
}

export type ScheduleOptions = ExecutionPolicy &
  Omit<ScheduleInput, 'type' | 'schedule' | 'interval' | 'runAt' | 'delayMs'> & {
    tenant?: string
    name?: string
    /** Names the job in its tenant: the same key again changes the job instead of making another. */
    key?: string
    managedBy?: string
  } & ({ cron: string; every?: never } | { /** ISO 8601 duration. */ every: string; cron?: never })

const waitForeverMs = 2 ** 31 - 1

/**
 * Starts nothing yet: register handlers with `handle`, then `start`.
 *
 * @example
 * ```ts
 * import { createCarillon, defineHandler } from '@carillon/server'
 *
 * const greet = defineHandler<{ name: string }>({ name: 'greet' })
 * const carillon = await createCarillon({ embedded: { dataDir: './data' } })
 * carillon.handle(greet, async (ctx) => `Hello ${ctx.payload.name}`)
 * await carillon.start()
 * const handle = await carillon.enqueue(greet, { name: 'Ada' })
 * console.log(await handle.result())
 * await carillon.stop()
 * ```
 */
export async function createCarillon(options: CarillonOptions): Promise<Carillon> {
  const { embedded, tenant, logger = createLogger(options.logLevel ?? 'warn'), logLevel: _, ...settings } = options
  if (embedded && settings.databaseUrl) {
    throw new CarillonError('CONFIG_INVALID', {
      message: 'databaseUrl and embedded are both given',
      hint: 'Give one of them',
    })
  }
  if (!embedded)
    return new Carillon(new Engine(engineConfig(settings), logger), { logger, tenant, postgres: null, settings })
  const postgres = await startEmbeddedPostgres(embedded)
  try {
    const engine = new Engine(engineConfig({ ...settings, databaseUrl: postgres.url }), logger)
    return new Carillon(engine, { logger, tenant, postgres, settings })
  } catch (error) {
    await postgres.stop()
    throw error
  }
}

export class Carillon {
  readonly #engine: Engine
  readonly #logger: Logger
  readonly #tenant: string
  readonly #postgres: EmbeddedPostgres | null
  readonly #settings: EngineSettings
  readonly #handlers: RegisteredHandler[] = []
  readonly #ends: Ends
  readonly #pools: KnownPools
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
    this.#ends = new Ends({ database: engine.database, signals: engine.signals, logger: parts.logger })
    this.#pools = new KnownPools(engine.database)
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
    await this.#ends.start()
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
  ): Promise<ExecutionHandle<Result>> {
    const tenant = options.tenant ?? this.#tenant
    const text = await validatePayload(definition, payload)
    const now = this.#engine.clock.now()
    const runAt = this.#checkEnqueue(options, tenant, now)
    const { pool, name: handler } = definition
    await this.#pools.require(pool)
    if (options.tx) {
      const values = [
        handler,
        text,
        pool,
        tenant,
        options.priority ?? defaults.priority,
        new Date(runAt),
        json(storedPolicy(options)),
        json(options.labels),
        options.traceparent ?? null,
        options.name ?? null,
      ]
      const rows = await runIn(options.tx)<{ id: string }>(enqueueSql, values)
      return this.#handle(rows[0]!.id, tenant)
    }
    if (runAt > now) return this.#enqueueLater(definition, text, runAt, tenant, options)
    if (runAt < now) await requireKept(this.#engine.database, runAt)
    const executionId = submissionId(Math.floor(runAt))
    await this.#engine.submitter.submit({
      executionId,
      tenant,
      name: options.name ?? null,
      pool,
      lane: laneOf(options.priority ?? defaults.priority),
      handler,
      runAt: Math.floor(runAt),
      payload: text,
      policy: storedPolicy(options),
      labels: options.labels ?? null,
      traceparent: options.traceparent ?? null,
    })
    return this.#handle(executionId, tenant)
  }

  /** Submits many executions in one transaction. */
  async enqueueMany<Input, Payload, Returned, Result>(
    definition: HandlerDefinition<Input, Payload, Returned, Result>,
    payloads: readonly NoInfer<Input>[],
    options: Omit<EnqueueOptions, 'tx' | 'runAt' | 'delayMs'> = {},
  ): Promise<ExecutionHandle<Result>[]> {
    const tenant = options.tenant ?? this.#tenant
    const now = Math.floor(this.#engine.clock.now())
    this.#checkEnqueue(options, tenant, now)
    await this.#pools.require(definition.pool)
    const texts = await Promise.all(payloads.map((payload) => validatePayload(definition, payload)))
    const shared = {
      tenant,
      name: options.name ?? null,
      pool: definition.pool,
      lane: laneOf(options.priority ?? defaults.priority),
      handler: definition.name,
      runAt: now,
      policy: storedPolicy(options),
      labels: options.labels ?? null,
      traceparent: options.traceparent ?? null,
    }
    const items = texts.map((payload) => ({ ...shared, payload, executionId: submissionId(now) }))
    await this.#engine.submitter.submitAll(items)
    return items.map(({ executionId }) => this.#handle(executionId, tenant))
  }

  /** Creates a recurring job, or changes the one with the same `key`. */
  async schedule<Input, Payload, Returned, Result>(
    definition: HandlerDefinition<Input, Payload, Returned, Result>,
    payload: NoInfer<Input>,
    options: ScheduleOptions,
  ): Promise<JobRecord> {
    const { tenant = this.#tenant, cron, every, ...rest } = options
    const text = await validatePayload(definition, payload)
    const target = { pool: definition.pool, handler: definition.name }
    const input: JobInput =
      cron === undefined
        ? { ...rest, type: 'INTERVAL', interval: every, target }
        : { ...rest, type: 'CRON', schedule: cron, target }
    return (await this.#engine.jobs.put(tenant, input, text)).job
  }

  pause(jobId: string, options: { tenant?: string } = {}): Promise<void> {
    return this.#engine.jobs.pause(options.tenant ?? this.#tenant, jobId)
  }

  resume(jobId: string, options: { tenant?: string } = {}): Promise<void> {
    return this.#engine.jobs.resume(options.tenant ?? this.#tenant, jobId)
  }

  /** The job fires no more and what is PENDING of it is cancelled. */
  unschedule(jobId: string, options: { tenant?: string; cancelRunning?: boolean } = {}): Promise<void> {
    const { tenant = this.#tenant, cancelRunning } = options
    return this.#engine.jobs.remove(tenant, jobId, { cancelRunning, actor: 'library' })
  }

  /** Runs a job now, apart from its schedule. */
  async trigger(jobId: string, options: { tenant?: string } = {}): Promise<ExecutionHandle<unknown>> {
    const tenant = options.tenant ?? this.#tenant
    const { executionId } = await this.#engine.jobs.trigger(tenant, jobId, { payload: null, traceparent: null })
    return this.#handle(executionId, tenant)
  }

  job(jobId: string, options: { tenant?: string } = {}): Promise<JobRecord | null> {
    return readJob(this.#engine.database, options.tenant ?? this.#tenant, jobId)
  }

  async execution(executionId: string, options: { tenant?: string } = {}): Promise<ExecutionView | null> {
    const record = await readExecution(this.#engine.database, options.tenant ?? this.#tenant, executionId)
    return record && viewOf(record)
  }

  /** A job's executions, newest first. */
  async executionsOf(jobId: string, options: { tenant?: string; limit?: number } = {}): Promise<ExecutionView[]> {
    const { tenant = this.#tenant, limit = 10 } = options
    return (await readExecutionsOfJob(this.#engine.database, tenant, jobId, limit)).map(viewOf)
  }

  /** Dead letters, newest first. */
  async deadLetters(options: { tenant?: string; limit?: number; before?: string } = {}): Promise<ExecutionView[]> {
    const { tenant = this.#tenant, limit = 100, before = 'ffffffff-ffff-ffff-ffff-ffffffffffff' } = options
    return (await readEndings(this.#engine.database, { tenant, state: 'DEAD', limit, before })).map(viewOf)
  }

  /**
   * One that is to come never fires, a pending one never starts; a running one is told to stop and loses its lease after
   * the grace.
   */
  async cancel(
    executionId: string,
    options: { tenant?: string; reason?: string } = {},
  ): Promise<'CANCELLED' | 'CANCELLING' | 'ENDED'> {
    const { database, signals, jobs } = this.#engine
    const tenant = options.tenant ?? this.#tenant
    if (!(await readExecution(database, tenant, executionId))) {
      // Not in the ledger yet: a one-shot to come has the same id. If it fires just now, its execution is there.
      if (await withdrawSubmission(database, tenant, executionId)) return 'CANCELLED'
      const removed = await jobs.remove(tenant, executionId, { actor: 'library' }).then(() => true, unlessGone)
      if (removed) return 'CANCELLED'
      await this.#require(tenant, executionId)
    }
    const why = { reason: options.reason ?? 'CANCELLED', actor: 'library' }
    const [done] = await cancel(database, [executionId], why)
    if (done?.verdict !== 'FLAGGED') return done?.verdict === 'CANCELLED' ? 'CANCELLED' : 'ENDED'
    const { workerId, fence } = done
    signals.publish({ kind: 'CANCEL', workerId: workerId!, executionId, fence: fence!, reason: 'CANCELLED' })
    return 'CANCELLING'
  }

  /** Brings a dead or cancelled execution back, with all its attempts. */
  async replay(executionId: string, options: { tenant?: string } = {}): Promise<void> {
    await this.#require(options.tenant ?? this.#tenant, executionId)
    const [done] = await replay(this.#engine.database, [executionId], 'library')
    if (done?.verdict === 'REPLAYED') {
      this.#engine.signals.publish({ kind: 'DUE', at: this.#engine.clock.now() })
      return
    }
    if (done?.verdict === 'TOO_OLD') {
      throw new CarillonError('OCCURRENCE_TOO_OLD', 'the history it belongs to is about to be dropped')
    }
    if (done?.verdict === 'OVERLAP')
      throw new CarillonError('OVERLAP_FORBIDDEN', 'another execution of the job is unfinished')
    throw new CarillonError('STATE_CONFLICT', { message: 'only DEAD and CANCELLED executions can be replayed' })
  }

  async #stop(options: { drainSec?: number }): Promise<void> {
    await this.#worker?.stop(options)
    await this.#ends.stop()
    await this.#engine.stop()
    await this.#postgres?.stop()
  }

  #checkEnqueue(options: EnqueueOptions, tenant: string, now: number): number {
    const problems = new Problems()
    checkPolicy(problems, options)
    problems.text('/tenant', tenant, limits.nameLength)
    if (options.name !== undefined) problems.text('/name', options.name, limits.nameLength)
    problems.integer('/delayMs', options.delayMs, { min: 0, max: 100 * 366 * 86_400_000 })
    const runAt = problems.instant('/runAt', options.runAt)
    if (runAt !== null && options.delayMs !== undefined) problems.add('/delayMs', 'cannot be given beside runAt')
    problems.throwIfAny()
    return runAt ?? now + (options.delayMs ?? 0)
  }

  /** A future submission is a job of type ONE_SHOT until it fires. */
  async #enqueueLater<Result>(
    definition: { pool: string; name: string },
    payload: string,
    runAt: number,
    tenant: string,
    options: EnqueueOptions,
  ): Promise<ExecutionHandle<Result>> {
    const { tx: _tx, delayMs: _delay, tenant: _tenant, ...rest } = options
    const target = { pool: definition.pool, handler: definition.name }
    const { job } = await this.#engine.jobs.put(tenant, { ...rest, type: 'ONE_SHOT', runAt, target }, payload)
    return this.#handle(job.definition.job_id, tenant)
  }

  #handle<Result>(executionId: string, tenant: string): ExecutionHandle<Result> {
    return new ExecutionHandle<Result>(executionId, {
      read: () => this.execution(executionId, { tenant }),
      wait: (waitMs) => this.#ends.wait(executionId, waitMs ?? waitForeverMs),
    })
  }

  async #require(tenant: string, executionId: string): Promise<void> {
    if (await readExecution(this.#engine.database, tenant, executionId)) return
    throw new CarillonError('EXECUTION_NOT_FOUND', { message: `there is no execution ${executionId}` })
  }
}

const enqueueSql = `
  select carillon.enqueue($1::text, $2::json, $3::text, $4::text, $5::text, $6::timestamptz, $7::jsonb, $8::jsonb, $9::text,
    $10::text) id`

function json(value: object | null | undefined): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value)
}

function unlessGone(error: unknown): false {
  if (error instanceof CarillonError && error.code === 'JOB_NOT_FOUND') return false
  throw error
}
