/**
 * The client: what library mode does in process, done over HTTP, with the same words. A request that may have been lost is
 * repeated, at another node if need be; what creates work carries an Idempotency-Key of its own, so that a repeat changes
 * nothing.
 */
import {
  apiPaths,
  type CancelOutcome,
  CarillonError,
  checkOptions,
  type EnqueueOptions,
  type Event,
  type EventReset,
  type Execution,
  enqueueOptionNames,
  type Job,
  type LogEvent,
  nearest,
  recurrenceOf,
  type ScheduleOptions,
  scheduleOptionNames,
  type VerifyOptions,
  type VerifyResult,
  verifyAll,
} from '@carillon/contract'
import { definitionOf, type HandlerOf, validatePayload, validatePayloads } from '../handler.ts'
import { checkNodeOptions } from '../http/node-options.ts'
import { type NodeOptions, Nodes } from '../http/nodes.ts'
import { DagCalls, DagRunCalls } from './dags.ts'
import { type EventsOptions, tellEvents } from './events.ts'
import { type FollowOptions, followLogs } from './follow.ts'
import { type Call, ExecutionCalls, InstallationCalls, JobCalls, LimitCalls, PoolCalls, TenantCalls } from './groups.ts'
import { ExecutionHandle } from './handle.ts'
import type { CallAnswer, CallInput, OperationId } from './operations.ts'
import { newKey, unless } from './requests.ts'
import { jobInputOf } from './submission.ts'

export type ClientOptions = NodeOptions

/** A node that is being restarted is back, or its load has moved to the others, before that. */
const defaultPatienceMs = 10_000
const longestPollSec = 50
const pollMarginMs = 10_000
const endStates = new Set(['SUCCEEDED', 'DEAD', 'CANCELLED', 'SKIPPED'])
const forever = Number.POSITIVE_INFINITY
const enqueueManyOptionNames = enqueueOptionNames.filter((name) => name !== 'dedupe')

/**
 * Speaks to an installation.
 *
 * @example
 * ```ts
 * import { createClient, defineHandler } from '@carillon/sdk'
 *
 * const greet = defineHandler<{ name: string }>({ name: 'greet' })
 * const client = createClient({ urls: ['http://127.0.0.1:7171'] })
 * const handle = await client.enqueue(greet, { name: 'Ada' })
 * console.log(await handle.result({ waitMs: 10_000 }))
 * await client.close()
 * ```
 */
export function createClient(options: ClientOptions): Client {
  return new Client(options)
}

export class Client {
  readonly #nodes: Nodes
  readonly jobs: JobCalls
  readonly executions: ExecutionCalls
  readonly dags: DagCalls
  readonly dagRuns: DagRunCalls
  readonly pools: PoolCalls
  readonly limits: LimitCalls
  readonly tenants: TenantCalls
  readonly installation: InstallationCalls

  /** Use `createClient`. */
  constructor(options: ClientOptions) {
    checkNodeOptions(options, 'createClient')
    this.#nodes = new Nodes({ patienceMs: defaultPatienceMs, ...options })
    const call: Call = (operation, input, options) => this.call(operation, input, options)
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
   * Any operation of the API by its id, typed by the contract.
   *
   * @example
   * ```ts
   * import { createClient } from '@carillon/sdk'
   *
   * const client = createClient({ urls: ['http://127.0.0.1:7171'] })
   * const { items } = await client.call('listJobs', { query: { state: 'ACTIVE', label: ['team:billing'] } })
   * for (const job of items) console.log(job.name, job.nextFireAt)
   * ```
   */
  async call<Id extends OperationId>(
    operation: Id,
    input: CallInput<Id>,
    options: { timeoutMs?: number; signal?: AbortSignal; poll?: boolean } = {},
  ): Promise<CallAnswer<Id>> {
    checkCall(operation, input, options)
    const { params = {}, query = {}, headers = {}, body } = input as Record<string, Record<string, unknown> | undefined>
    const [method, path] = apiPaths[operation].split(' ') as [string, string]
    const text = body === undefined ? undefined : JSON.stringify(body)
    const answer = await this.#nodes.request({
      method,
      path: fill(path, params) + queryOf(query),
      headers: headersOf(headers),
      ...(text !== undefined && { body: text }),
      ...options,
    })
    return answer as CallAnswer<Id>
  }

  /** Submits one execution. Resolves after its commit. */
  async enqueue<Input, Payload, Returned, Result>(
    handler: HandlerOf<Input, Payload, Returned, Result>,
    payload: NoInfer<Input>,
    options: EnqueueOptions = {},
  ): Promise<ExecutionHandle<Result, Execution>> {
    checkOptions(options, enqueueOptionNames)
    const definition = definitionOf(handler)
    const body = jobInputOf(definition, JSON.parse(await validatePayload(definition, payload)), options)
    const job = await this.call('createJob', { body, headers: newKey() })
    return this.handle<Result>(job.dedupe?.executionId ?? job.jobId)
  }

  /** Submits many executions, all or none. */
  async enqueueMany<Input, Payload, Returned, Result>(
    handler: HandlerOf<Input, Payload, Returned, Result>,
    payloads: readonly NoInfer<Input>[],
    options: Omit<EnqueueOptions, 'dedupe'> = {},
  ): Promise<ExecutionHandle<Result, Execution>[]> {
    checkOptions(options, enqueueManyOptionNames)
    const definition = definitionOf(handler)
    if (payloads.length === 0) return []
    const texts = await validatePayloads(definition, payloads)
    const jobs = texts.map((text) => jobInputOf(definition, JSON.parse(text), options))
    const { items } = await this.call('createJobs', { body: { jobs }, headers: newKey() })
    return items.map(({ jobId }) => this.handle<Result>(jobId!))
  }

  /** Creates a recurring job, or changes the one with the same `key`. */
  async schedule<Input, Payload, Returned, Result>(
    handler: HandlerOf<Input, Payload, Returned, Result>,
    payload: NoInfer<Input>,
    options: ScheduleOptions,
  ): Promise<Job> {
    checkOptions(options, scheduleOptionNames)
    const definition = definitionOf(handler)
    const time = recurrenceOf(options)
    const body = { ...jobInputOf(definition, JSON.parse(await validatePayload(definition, payload)), options), ...time }
    return this.call('createJob', { body, headers: newKey() })
  }

  /** The handle of an execution that is known by its id. */
  handle<Result = unknown>(executionId: string): ExecutionHandle<Result, Execution> {
    return new ExecutionHandle<Result, Execution>(executionId, {
      read: () => this.execution(executionId),
      wait: (waitMs) => this.#wait(executionId, waitMs ?? forever),
      follow: (options) => this.follow(executionId, options),
    })
  }

  /** Null: there is none with this id, or it has not fired yet. */
  execution(executionId: string): Promise<Execution | null> {
    return this.call('getExecution', { params: { executionId } }).catch(
      unless('EXECUTION_NOT_FOUND', 'EXECUTION_TO_COME'),
    )
  }

  job(jobId: string): Promise<Job | null> {
    return this.call('getJob', { params: { jobId } }).catch(unless('JOB_NOT_FOUND'))
  }

  pause(jobId: string): Promise<Job> {
    return this.call('pauseJob', { params: { jobId } })
  }

  resume(jobId: string): Promise<Job> {
    return this.call('resumeJob', { params: { jobId } })
  }

  /** Runs a job now, apart from its schedule. */
  async trigger(jobId: string, options: { payload?: unknown } = {}): Promise<ExecutionHandle<unknown, Execution>> {
    checkOptions(options, ['payload'])
    const body = { payload: options.payload }
    const { executionId } = await this.call('triggerJob', { params: { jobId }, body, headers: newKey() })
    return this.handle(executionId)
  }

  /** The job fires no more and what is PENDING of it is cancelled. */
  async unschedule(jobId: string, options: { cancelRunning?: boolean } = {}): Promise<void> {
    checkOptions(options, ['cancelRunning'])
    await this.call('deleteJob', { params: { jobId }, query: { cancelRunning: options.cancelRunning ?? false } })
  }

  async cancel(executionId: string): Promise<CancelOutcome> {
    return (await this.call('cancelExecution', { params: { executionId } })).outcome
  }

  /** Replays a dead or cancelled execution, with all its attempts again. */
  async replay(executionId: string): Promise<void> {
    await this.call('retryExecution', { params: { executionId } })
  }

  /**
   * Compares the ledger with the schedules: what is missing, what is there twice, what was late, what was skipped and why.
   * A long range takes many requests; `onPart` reports the progress.
   *
   * @example
   * ```ts
   * import { createClient } from '@carillon/sdk'
   *
   * const client = createClient({ urls: ['http://127.0.0.1:7171'] })
   * const { verdict, missed, doubled } = await client.verify({ from: '2030-01-01T00:00:00Z', to: '2030-01-02T00:00:00Z' })
   * console.log(verdict, missed, doubled)
   * ```
   */
  verify(options: VerifyOptions): Promise<VerifyResult> {
    return verifyAll((query) => this.call('verify', { query }), options)
  }

  /**
   * What happens to jobs and executions, as it happens, until `signal` aborts or the iteration ends. Reconnects
   * by itself, at another node if need be, and goes on where it stopped: nothing is missing and nothing comes twice. Where
   * that cannot be guaranteed, an event of type `reset` comes: reload any copy you keep. Throws what the node
   * refuses with, and UNAVAILABLE if none answers at the start.
   *
   * @example
   * ```ts
   * import { createClient } from '@carillon/sdk'
   *
   * const client = createClient({ urls: ['http://127.0.0.1:7171'] })
   * for await (const event of client.events({ types: ['execution.dead', 'job.*'] })) {
   *   if (event.type === 'reset') console.log('something may have been missed')
   *   else console.log(event.type, event.jobId, event.detail.reason)
   * }
   * ```
   */
  events(options: EventsOptions = {}): AsyncGenerator<Event | EventReset, void> {
    return tellEvents(this.#nodes, options)
  }

  /**
   * What an execution logs and how far it has come, as it comes; the last one is of type `end`, when it has ended. Lines are here about
   * a second after they were logged. Reconnects by itself and goes on after the last line.
   *
   * @example
   * ```ts
   * import { createClient } from '@carillon/sdk'
   *
   * const client = createClient({ urls: ['http://127.0.0.1:7171'] })
   * for await (const event of client.follow('0195d3c4-7a70-7000-8000-000000000001')) {
   *   if (event.type === 'line') console.log(event.at, event.text)
   *   else if (event.type === 'end') console.log(event.state)
   * }
   * ```
   */
  follow(executionId: string, options: FollowOptions = {}): AsyncGenerator<LogEvent, void> {
    return followLogs(this.#nodes, executionId, options)
  }

  /** Closes all connections. */
  close(): Promise<void> {
    return this.#nodes.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #wait(executionId: string, waitMs: number): Promise<boolean> {
    const until = performance.now() + waitMs
    for (;;) {
      const leftSec = Math.max(0, (until - performance.now()) / 1_000)
      const waitSec = Math.min(longestPollSec, leftSec)
      const execution = await this.call(
        'getExecution',
        { params: { executionId }, query: { waitSec } },
        { timeoutMs: waitSec * 1_000 + pollMarginMs, poll: true },
      ).catch(unless('EXECUTION_TO_COME'))
      if (execution !== null && endStates.has(execution.state)) return true
      if (leftSec === 0) return false
    }
  }
}

function checkCall(operation: string, input: unknown, options: object): void {
  if (!Object.hasOwn(apiPaths, operation)) {
    const near = nearest(operation, Object.keys(apiPaths))
    throw new CarillonError('VALIDATION', {
      message: `there is no operation ${operation}`,
      hint: near === null ? 'See /docs of a node' : `Did you mean ${near}?`,
    })
  }
  checkOptions(input, ['params', 'query', 'headers', 'body'], { what: 'the input' })
  checkOptions(options, ['timeoutMs', 'signal', 'poll'])
}

function fill(path: string, params: Record<string, unknown>): string {
  return path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name])))
}

function queryOf(query: Record<string, unknown>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined) search.append(name, String(each))
    }
  }
  return search.size === 0 ? '' : `?${search}`
}

function headersOf(headers: Record<string, unknown>): Record<string, string> {
  const given = Object.entries(headers).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
}
