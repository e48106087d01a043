/** The calls of library mode: work, schedules, and their outcomes. The tenant's, unless it names another. */
import {
  type EnqueueOptions as AnyEnqueueOptions,
  type ScheduleOptions as AnyScheduleOptions,
  type CancelOutcome,
  CarillonError,
  checkOptions,
  defaults,
  type Event,
  type EventReset,
  type JobInput,
  type LogEvent,
  type LogLine,
  recurrenceOf,
  scopes,
} from '@carillon/contract'
import {
  type CallAnswer,
  type CallInput,
  DagCalls,
  DagRunCalls,
  definitionOf,
  type EventsOptions,
  ExecutionCalls,
  ExecutionHandle,
  encodeJson,
  type FollowOptions,
  type HandlerOf,
  InstallationCalls,
  JobCalls,
  LimitCalls,
  type OperationId,
  PoolCalls,
  TenantCalls,
  type VerifyOptions,
  type VerifyResult,
  validatePayload,
  validatePayloads,
  verifyAll,
} from '@carillon/sdk'
import { cursorOf } from '../executions/cursor.ts'
import { type ExecutionView, viewOf } from '../executions/view.ts'
import { InProcessApi } from '../http/in-process.ts'
import type { Caller } from '../http/route.ts'
import { routes } from '../http/routes/index.ts'
import { filteredJobId, jobNotFound, withJob } from '../jobs/reference.ts'
import { type JobView, jobViewOf, showJob } from '../jobs/view.ts'
import type { Engine } from '../main.ts'
import { readJob } from '../store/jobs/read.ts'
import {
  type CheckOptions,
  checkCancel,
  checkDeadLetters,
  checkEnqueue,
  checkEnqueueMany,
  checkEnqueueRun,
  checkFollow,
  checkJob,
  checkLimit,
  checkSchedule,
  checkTenant,
  checkTrigger,
  checkUnschedule,
} from './checks.ts'
import { enqueueIn, enqueueRunIn } from './enqueue-in.ts'
import { listen } from './events.ts'
import { follow } from './follow.ts'
import type { Transaction } from './transaction.ts'

export type ScheduleOptions = AnyScheduleOptions & { tenant?: string }

export interface EnqueueOptions extends AnyEnqueueOptions {
  tenant?: string
  /** The caller's own transaction: the execution exists if and only if it commits. */
  tx?: Transaction
}

export interface EnqueueRunOptions extends Pick<AnyEnqueueOptions, 'name' | 'labels' | 'priority' | 'traceparent'> {
  tenant?: string
  /** What the run is given. */
  payload?: unknown
  /** When to start it. Left out: now. */
  runAt?: Date | number
  /** The caller's own transaction: the run is started if and only if it commits. */
  tx: Transaction
}

export type CreateJobInput = JobInput & { tenant?: string; payload?: unknown }

const waitForeverMs = 2 ** 31 - 1

export class CarillonCalls {
  readonly #engine: Engine
  readonly #tenant: string
  readonly #api: InProcessApi
  /** Jobs: list, read, change, preview, backfill. */
  readonly jobs: JobCalls
  /** Executions: list, read, explain, and many at once. */
  readonly executions: ExecutionCalls
  /** Graphs of steps: create, read, change, run. */
  readonly dags: DagCalls
  /** Their runs: start, read, wait, cancel, pause, resume, retry. */
  readonly dagRuns: DagRunCalls
  readonly pools: PoolCalls
  /** Limits of concurrency and of rate: list, read, put, delete. */
  readonly limits: LimitCalls
  /** Tenants that are declared, and their shares: list, read, put, delete. */
  readonly tenants: TenantCalls
  /** Health, metrics, workers, audit, long work. */
  readonly installation: InstallationCalls

  constructor(engine: Engine, tenant: string = defaults.tenant) {
    this.#engine = engine
    this.#tenant = tenant
    this.#api = new InProcessApi(routes, () => this.engine)
    const call = <Id extends OperationId>(operation: Id, input: CallInput<Id>) => this.call(operation, input)
    this.jobs = new JobCalls(call)
    this.executions = new ExecutionCalls(call)
    this.dags = new DagCalls(call)
    this.dagRuns = new DagRunCalls(call)
    this.pools = new PoolCalls(call)
    this.limits = new LimitCalls(call)
    this.tenants = new TenantCalls(call)
    this.installation = new InstallationCalls(call)
  }

  /**
   * Any operation of the HTTP API by its id, answered in process by the same route, with every right.
   *
   * @example
   * ```ts
   * import { createCarillon } from '@carillon/server'
   *
   * const carillon = await createCarillon({ databaseUrl: 'postgres://localhost/app' })
   * const { items } = await carillon.call('listJobs', { query: { state: 'ACTIVE', label: ['team:billing'] } })
   * for (const job of items) console.log(job.name, job.nextFireAt)
   * ```
   */
  async call<Id extends OperationId>(
    operation: Id,
    input: CallInput<Id>,
    options: { tenant?: string } = {},
  ): Promise<CallAnswer<Id>> {
    checkOptions(input, ['params', 'query', 'headers', 'body'], { what: 'the input' })
    const named = options.tenant === undefined ? {} : { actsForTenant: true as const }
    const caller: Caller = { ...library, ...named, tenant: this.#tenantOf(options) }
    return (await this.#api.call(operation, input, caller)) as CallAnswer<Id>
  }

  protected get engine(): Engine {
    return this.#engine
  }

  /** Submits one execution. Resolves after its commit; with `tx`, after the row is written in that transaction. */
  async enqueue<Input, Payload, Returned, Result>(
    handler: HandlerOf<Input, Payload, Returned, Result>,
    payload: NoInfer<Input>,
    options: EnqueueOptions = {},
  ): Promise<ExecutionHandle<Result, ExecutionView>> {
    const tenant = this.#tenantOf(options, checkEnqueue)
    await this.engine.tenants.require(tenant)
    const definition = definitionOf(handler)
    const text = await validatePayload(definition, payload)
    const target = targetOf(definition)
    const { tenant: _, tx, ...rest } = options
    const { submissions } = this.engine
    if (tx === undefined) return this.#handle(await submissions.submit(target, tenant, text, rest), tenant)
    if (rest.dedupe !== undefined) throw noDedupe()
    const runAt = await submissions.runAt(target, tenant, text, rest)
    return this.#handle(await enqueueIn(tx, { target, tenant, payload: text, runAt, options: rest }), tenant)
  }

  /**
   * Starts a run of a graph, by its id or key, with the caller's own transaction; without one it is `dags.run`. The execution stands for
   * the run and ends as it does, with the results of the last steps by their names.
   */
  async enqueueRun(
    dag: string,
    options: EnqueueRunOptions,
  ): Promise<ExecutionHandle<Record<string, unknown>, ExecutionView>> {
    const tenant = this.#tenantOf(options, checkEnqueueRun)
    await this.engine.tenants.require(tenant)
    const { payload, ...rest } = options
    if (rest.tx === undefined) {
      const hint = 'Pass the client of your transaction; without one: dags.run'
      throw new CarillonError('VALIDATION', { pointer: '/tx', message: 'tx is required', hint })
    }
    const text = payload === undefined ? null : encodeJson(payload, 'payload')
    return this.#handle(await enqueueRunIn(options.tx, { dag, tenant, payload: text, options: rest }), tenant)
  }

  /** Submits many executions in one transaction. */
  async enqueueMany<Input, Payload, Returned, Result>(
    handler: HandlerOf<Input, Payload, Returned, Result>,
    payloads: readonly NoInfer<Input>[],
    options: Omit<EnqueueOptions, 'tx' | 'runAt' | 'delayMs' | 'dedupe'> = {},
  ): Promise<ExecutionHandle<Result, ExecutionView>[]> {
    const tenant = this.#tenantOf(options, checkEnqueueMany)
    await this.engine.tenants.require(tenant)
    const definition = definitionOf(handler)
    const { tenant: _, ...rest } = options
    const texts = await validatePayloads(definition, payloads)
    const ids = await this.engine.submissions.submitAll(targetOf(definition), tenant, texts, rest)
    return ids.map((executionId) => this.#handle(executionId, tenant))
  }

  /** Creates a recurring job, or changes the one with the same `key`. */
  async schedule<Input, Payload, Returned, Result>(
    handler: HandlerOf<Input, Payload, Returned, Result>,
    payload: NoInfer<Input>,
    options: ScheduleOptions,
  ): Promise<JobView> {
    const tenant = this.#tenantOf(options, checkSchedule)
    await this.engine.tenants.require(tenant)
    const definition = definitionOf(handler)
    const { tenant: _, cron, every, after, ...rest } = options
    const input: JobInput = { ...rest, ...recurrenceOf({ cron, every, after }), target: targetOf(definition) }
    const text = await validatePayload(definition, payload)
    const { job, latest } = await this.engine.submissions.create({ tenant, actor: library.actor }, input, text)
    return jobViewOf(job, latest)
  }

  /** Creates a job from a definition as the HTTP API takes it; one that is due now runs at once. */
  async createJob(input: CreateJobInput): Promise<JobView> {
    const tenant = this.#tenantOf(input, checkJob)
    await this.engine.tenants.require(tenant)
    const { tenant: _, payload, ...rest } = input
    const text = payload === undefined ? null : encodeJson(payload, 'payload')
    const { job, latest } = await this.engine.submissions.create({ tenant, actor: library.actor }, rest, text)
    return jobViewOf(job, latest)
  }

  /** Jobs are named by their id or their key, here and below. */
  async pause(job: string, options: { tenant?: string } = {}): Promise<void> {
    await this.call('pauseJob', { params: { jobId: job } }, options)
  }

  async resume(job: string, options: { tenant?: string } = {}): Promise<void> {
    await this.call('resumeJob', { params: { jobId: job } }, options)
  }

  /** The job fires no more and what is PENDING of it is cancelled. */
  async unschedule(job: string, options: { tenant?: string; cancelRunning?: boolean } = {}): Promise<void> {
    const tenant = this.#tenantOf(options, checkUnschedule)
    const { cancelRunning } = options
    await this.call('deleteJob', { params: { jobId: job }, query: { cancelRunning } }, { tenant })
  }

  /** Runs a job now, apart from its schedule. Throws OVERLAP_FORBIDDEN where its overlap policy does not allow that. */
  async trigger(
    job: string,
    options: { tenant?: string; payload?: unknown } = {},
  ): Promise<ExecutionHandle<unknown, ExecutionView>> {
    const tenant = this.#tenantOf(options, checkTrigger)
    const { payload } = options
    const { executionId } = await this.call('triggerJob', { params: { jobId: job }, body: { payload } }, { tenant })
    return this.#handle(executionId, tenant)
  }

  async job(job: string, options: { tenant?: string } = {}): Promise<JobView | null> {
    const tenant = this.#tenantOf(options)
    this.#api.check('getJob', { params: { jobId: job } })
    const { database } = this.engine
    try {
      return await withJob(database, { tenant, job }, async (jobId) => {
        const record = await readJob(database, tenant, jobId)
        if (record === null) throw jobNotFound(job)
        return showJob(database, record)
      })
    } catch (error) {
      if (error instanceof CarillonError && error.code === 'JOB_NOT_FOUND') return null
      throw error
    }
  }

  async execution(executionId: string, options: { tenant?: string } = {}): Promise<ExecutionView | null> {
    const tenant = this.#tenantOf(options)
    this.#api.check('getExecution', { params: { executionId } })
    const record = await this.engine.executions.findEver(tenant, executionId)
    return record && viewOf(record)
  }

  /** The lines that its handler logged. */
  async logs(executionId: string, options: { tenant?: string } = {}): Promise<LogLine[]> {
    const tenant = this.#tenantOf(options)
    this.#api.check('getExecutionLogs', { params: { executionId } })
    return (await this.engine.executions.logs(tenant, executionId)).lines
  }

  /**
   * What an execution logs and how far it has come, as it comes; the last one is of type `end`, when it has ended.
   *
   * @example
   * ```ts
   * import { createCarillon } from '@carillon/server'
   *
   * const carillon = await createCarillon({ databaseUrl: 'postgres://localhost/app' })
   * await carillon.start()
   * for await (const event of carillon.follow('0195d3c4-7a70-7000-8000-000000000001')) {
   *   if (event.type === 'line') console.log(event.at, event.text)
   * }
   * ```
   */
  async *follow(
    executionId: string,
    options: FollowOptions & { tenant?: string } = {},
  ): AsyncGenerator<LogEvent, void> {
    const tenant = this.#tenantOf(options, checkFollow)
    this.#api.check('getExecutionLogs', { params: { executionId } })
    yield* follow(this.engine, { tenant, executionId }, options)
  }

  /** A job's executions, newest first. */
  async executionsOf(job: string, options: { tenant?: string; limit?: number } = {}): Promise<ExecutionView[]> {
    const tenant = this.#tenantOf(options, checkLimit)
    this.#api.check('listJobExecutions', { params: { jobId: job } })
    const { database, executions } = this.engine
    const jobId = await filteredJobId(database, { tenant, job })
    return jobId === null ? [] : (await executions.ofJob(tenant, jobId, options.limit ?? 10)).map(viewOf)
  }

  /** Dead letters, newest first. */
  async deadLetters(options: { tenant?: string; limit?: number; before?: string } = {}): Promise<ExecutionView[]> {
    const tenant = this.#tenantOf(options, checkDeadLetters)
    const { limit = 100, before } = options
    const page = { limit, cursor: before && cursorOf(before) }
    return (await this.engine.executions.deadLetters(tenant, {}, page)).records.map(viewOf)
  }

  /**
   * One that is to come never fires, a pending one never starts; a running one is told to stop and loses its lease after
   * the grace.
   */
  async cancel(executionId: string, options: { tenant?: string; reason?: string } = {}): Promise<CancelOutcome> {
    const tenant = this.#tenantOf(options, checkCancel)
    this.#api.check('cancelExecution', { params: { executionId } })
    const { reason = 'CANCELLED' } = options
    return this.engine.executions.cancel(tenant, executionId, { reason, actor: library.actor })
  }

  /** Replays a dead or cancelled execution, with all its attempts again. */
  async replay(executionId: string, options: { tenant?: string } = {}): Promise<void> {
    const tenant = this.#tenantOf(options)
    this.#api.check('retryExecution', { params: { executionId } })
    await this.engine.executions.replay(tenant, executionId, library.actor)
  }

  /** Compares the ledger with the schedules: what is missing, what is there twice, what was late or skipped, and why. */
  verify(options: VerifyOptions): Promise<VerifyResult> {
    return verifyAll((query) => this.call('verify', { query }), options)
  }

  /**
   * What happens to jobs and executions, as it happens, until `signal` aborts, the iteration ends, or `stop`.
   *
   * @example
   * ```ts
   * import { createCarillon } from '@carillon/server'
   *
   * const carillon = await createCarillon({ databaseUrl: 'postgres://localhost/app' })
   * await carillon.start()
   * for await (const event of carillon.events({ types: ['execution.dead'] })) console.log(event)
   * ```
   */
  events(options: EventsOptions = {}): AsyncGenerator<Event | EventReset, void> {
    return listen(this.engine, this.#tenant, options)
  }

  #tenantOf(options: { tenant?: string }, check: CheckOptions = checkTenant): string {
    check(options)
    return options.tenant ?? this.#tenant
  }

  #handle<Result>(executionId: string, tenant: string): ExecutionHandle<Result, ExecutionView> {
    return new ExecutionHandle<Result, ExecutionView>(executionId, {
      read: () => this.execution(executionId, { tenant }),
      wait: (waitMs) => this.engine.ends.wait(executionId, waitMs ?? waitForeverMs),
      follow: (options) => this.follow(executionId, { ...options, tenant }),
    })
  }
}

const library: Omit<Caller, 'tenant'> = { platform: true, scopes: new Set(scopes), actor: 'library' }

function noDedupe(): CarillonError {
  return new CarillonError('VALIDATION', {
    pointer: '/dedupe',
    message: 'dedupe cannot be given beside tx',
    hint: 'Which execution holds the key is known only after the commit: enqueue then, or call carillon.enqueue(…, dedupe => …) in SQL',
  })
}

function targetOf(definition: { pool: string; name: string }): { pool: string; handler: string } {
  return { pool: definition.pool, handler: definition.name }
}
