/**
 * The calls of an installation besides submitting work, in groups. The client makes them over HTTP, library mode in process:
 * both by the same operations of the contract, so each rule exists once, in the route that answers.
 */
import type {
  BackfillInput,
  BulkInput,
  CopyInput,
  Execution,
  Explanation,
  Job,
  JobPatch,
  Limit,
  LimitInput,
  Tenant,
  TenantInput,
  WireJobInput,
} from '@carillon/contract'
import type { CallAnswer, CallInput, OperationId } from './operations.ts'
import { ifMatch, unless } from './requests.ts'

export type Call = <Id extends OperationId>(
  operation: Id,
  input: CallInput<Id>,
  options?: { signal?: AbortSignal },
) => Promise<CallAnswer<Id>>

export type QueryOf<Id extends OperationId> = CallInput<Id> extends { query?: infer Query } ? NonNullable<Query> : never
type BodyOf<Id extends OperationId> = CallInput<Id> extends { body: infer Body } ? Body : never

/** A job is named by its id or its key everywhere here. */
export class JobCalls {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** Newest first; `nextCursor` of one page is the `cursor` of the next. */
  list(query: QueryOf<'listJobs'> = {}): Promise<CallAnswer<'listJobs'>> {
    return this.#call('listJobs', { query })
  }

  /** The job and its latest ten executions; null: there is none. */
  get(job: string): Promise<CallAnswer<'getJob'> | null> {
    return this.#call('getJob', { params: { jobId: job } }).catch(unless('JOB_NOT_FOUND'))
  }

  /** Gives it another definition. With `version`, only if it is still that one. */
  replace(job: string, body: WireJobInput, options: { version?: number } = {}): Promise<Job> {
    return this.#call('replaceJob', { params: { jobId: job }, body, headers: ifMatch(options) })
  }

  /** Changes a part of it: what is left out stays, null goes back to the default. */
  patch(job: string, body: JobPatch, options: { version?: number } = {}): Promise<Job> {
    return this.#call('patchJob', { params: { jobId: job }, body, headers: ifMatch(options) })
  }

  /** When it fires next. */
  next(job: string, query: QueryOf<'nextFires'> = {}): Promise<CallAnswer<'nextFires'>> {
    return this.#call('nextFires', { params: { jobId: job }, query })
  }

  /** What will fire of all jobs, by minute or by hour, and where it collides. */
  forecast(query: QueryOf<'getForecast'> = {}): Promise<CallAnswer<'getForecast'>> {
    return this.#call('getForecast', { query })
  }

  /** When a schedule would fire. */
  preview(body: BodyOf<'previewSchedule'>): Promise<CallAnswer<'previewSchedule'>> {
    return this.#call('previewSchedule', { body })
  }

  executions(job: string, query: QueryOf<'listJobExecutions'> = {}): Promise<CallAnswer<'listJobExecutions'>> {
    return this.#call('listJobExecutions', { params: { jobId: job }, query })
  }

  /** What it was and is, newest first. */
  versions(job: string, query: QueryOf<'listJobVersions'> = {}): Promise<CallAnswer<'listJobVersions'>> {
    return this.#call('listJobVersions', { params: { jobId: job }, query })
  }

  /** Runs the occurrences of a time that has passed. */
  backfill(job: string, body: BackfillInput): Promise<CallAnswer<'backfillJob'>> {
    return this.#call('backfillJob', { params: { jobId: job }, body })
  }
}

export class ExecutionCalls {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** Newest first; without a job and without `from`, of the last 24 hours. */
  list(query: QueryOf<'listExecutions'> = {}): Promise<CallAnswer<'listExecutions'>> {
    return this.#call('listExecutions', { query })
  }

  get(executionId: string): Promise<Execution> {
    return this.#call('getExecution', { params: { executionId } })
  }

  /** Why it does not run. */
  explain(executionId: string): Promise<Explanation> {
    return this.#call('explainExecution', { params: { executionId } })
  }

  /** The lines that its handler logged. */
  logs(executionId: string): Promise<CallAnswer<'getExecutionLogs'>> {
    return this.#call('getExecutionLogs', { params: { executionId } })
  }

  /** Cancels all that match; answers the operation that does it, or with `dryRun` how many there are. */
  cancelAll(body: BulkInput): Promise<CallAnswer<'cancelExecutions'>> {
    return this.#call('cancelExecutions', { body })
  }

  /** Replays all that match. */
  retryAll(body: BulkInput): Promise<CallAnswer<'retryExecutions'>> {
    return this.#call('retryExecutions', { body })
  }

  /** Submits all that match again, as new executions in another pool; the originals are not touched. */
  copyAll(body: CopyInput): Promise<CallAnswer<'copyExecutions'>> {
    return this.#call('copyExecutions', { body })
  }

  listDead(query: QueryOf<'listDeadLetters'> = {}): Promise<CallAnswer<'listDeadLetters'>> {
    return this.#call('listDeadLetters', { query })
  }

  /** Dead letters by the error they ended with. */
  groupDead(query: QueryOf<'groupDeadLetters'> = {}): Promise<CallAnswer<'groupDeadLetters'>> {
    return this.#call('groupDeadLetters', { query })
  }

  /** What failed, by job; of the last 7 days unless told otherwise. */
  failures(query: QueryOf<'listFailures'> = {}): Promise<CallAnswer<'listFailures'>> {
    return this.#call('listFailures', { query })
  }

  replayDead(body: BodyOf<'replayDeadLetters'>): Promise<CallAnswer<'replayDeadLetters'>> {
    return this.#call('replayDeadLetters', { body })
  }

  purgeDead(body: BodyOf<'purgeDeadLetters'>): Promise<CallAnswer<'purgeDeadLetters'>> {
    return this.#call('purgeDeadLetters', { body })
  }

  /** Strikes one dead letter off the list. */
  async purgeOneDead(executionId: string): Promise<void> {
    await this.#call('purgeDeadLetter', { params: { executionId } })
  }
}

export class PoolCalls {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  list(query: QueryOf<'listPools'> = {}): Promise<CallAnswer<'listPools'>> {
    return this.#call('listPools', { query })
  }

  create(name: string): Promise<CallAnswer<'createPool'>> {
    return this.#call('createPool', { body: { name } })
  }

  pause(name: string): Promise<CallAnswer<'pausePool'>> {
    return this.#call('pausePool', { params: { name } })
  }

  resume(name: string): Promise<CallAnswer<'resumePool'>> {
    return this.#call('resumePool', { params: { name } })
  }

  /** How much waits and runs there, and how many slots that needs. */
  scaling(name: string): Promise<CallAnswer<'scalePool'>> {
    return this.#call('scalePool', { params: { name } })
  }

  /** What waits and runs, by pool and lane. */
  load(): Promise<CallAnswer<'getLoad'>> {
    return this.#call('getLoad', {})
  }
}

/**
 * Limits of concurrency and of rate: of the tenant, with a platform token of the installation.
 *
 * @example
 * ```ts
 * import { createClient, defineHandler } from '@carillon/sdk'
 *
 * const charge = defineHandler<{ accountId: number }>({ name: 'charge' })
 * const client = createClient({ urls: ['http://127.0.0.1:7171'] })
 * await client.limits.put('acct', { concurrency: 5, rate: { count: 100, perSec: 60 } })
 * await client.enqueue(charge, { accountId: 42 }, { limits: ['acct:{payload.accountId}'] })
 * ```
 */
export class LimitCalls {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  list(query: QueryOf<'listLimits'> = {}): Promise<CallAnswer<'listLimits'>> {
    return this.#call('listLimits', { query })
  }

  /** The limit, and how much of it is used; null: it is not declared. */
  get(limit: string): Promise<CallAnswer<'getLimit'> | null> {
    return this.#call('getLimit', { params: { limit } }).catch(unless('LIMIT_NOT_FOUND'))
  }

  /** Declares it, or changes it: what is left out has its default. With `version`, only if it is still that one. */
  put(limit: string, body: LimitInput, options: { version?: number } = {}): Promise<Limit> {
    return this.#call('putLimit', { params: { limit }, body, headers: ifMatch(options) })
  }

  /** What waits for it starts. */
  async delete(limit: string, options: { version?: number } = {}): Promise<void> {
    await this.#call('deleteLimit', { params: { limit }, headers: ifMatch(options) })
  }
}

/** Tenants that are declared, and their shares. Only a platform token may ask. */
export class TenantCalls {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  list(query: QueryOf<'listTenants'> = {}): Promise<CallAnswer<'listTenants'>> {
    return this.#call('listTenants', { query })
  }

  /** Null: it is not declared. */
  get(tenant: string): Promise<CallAnswer<'getTenant'> | null> {
    return this.#call('getTenant', { params: { tenant } }).catch(unless('TENANT_NOT_FOUND'))
  }

  /** Declares it, or changes it: what is left out has its default. With `version`, only if it is still that one. */
  put(tenant: string, body: TenantInput, options: { version?: number } = {}): Promise<Tenant> {
    return this.#call('putTenant', { params: { tenant }, body, headers: ifMatch(options) })
  }

  /** Refused while the tenant has anything but history. */
  async delete(tenant: string, options: { version?: number } = {}): Promise<void> {
    await this.#call('deleteTenant', { params: { tenant }, headers: ifMatch(options) })
  }

  /** What a tenant used, by day; it need not be declared. */
  usage(tenant: string, query: QueryOf<'getTenantUsage'> = {}): Promise<CallAnswer<'getTenantUsage'>> {
    return this.#call('getTenantUsage', { params: { tenant }, query })
  }

  /** What each tenant used in a range of days, by name; those that used nothing are left out. */
  usageOfAll(query: QueryOf<'listUsage'> = {}): Promise<CallAnswer<'listUsage'>> {
    return this.#call('listUsage', { query })
  }
}

export class InstallationCalls {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** Who is asking, and what that caller may do. */
  me(): Promise<CallAnswer<'getMe'>> {
    return this.#call('getMe', {})
  }

  /** API keys of the tenant, newest first, without their secrets. */
  tokens(query: QueryOf<'listTokens'> = {}): Promise<CallAnswer<'listTokens'>> {
    return this.#call('listTokens', { query })
  }

  /** Creates an API key; `key` of the answer is shown nowhere else. */
  createToken(body: BodyOf<'createToken'>): Promise<CallAnswer<'createToken'>> {
    return this.#call('createToken', { body })
  }

  /** Every node refuses it within 10 seconds. */
  async revokeToken(keyId: string): Promise<void> {
    await this.#call('revokeToken', { params: { keyId } })
  }

  /** Whether the node can serve, and what prevents it. */
  health(): Promise<CallAnswer<'readyz'>> {
    return this.#call('readyz', {})
  }

  /** Metrics in the format of Prometheus. */
  async metrics(): Promise<string> {
    return String(await this.#call('metrics', {}))
  }

  /** The nodes, and how leadership stands. */
  nodes(): Promise<CallAnswer<'listNodes'>> {
    return this.#call('listNodes', {})
  }

  /** What continuous verification has found, in all and hour by hour. */
  verified(): Promise<CallAnswer<'getVerified'>> {
    return this.#call('getVerified', {})
  }

  workers(query: QueryOf<'listWorkers'> = {}): Promise<CallAnswer<'listWorkers'>> {
    return this.#call('listWorkers', { query })
  }

  /** A worker, and what it holds of the tenant; null: it is not registered. */
  worker(workerId: string): Promise<CallAnswer<'getWorker'> | null> {
    return this.#call('getWorker', { params: { workerId } }).catch(unless('WORKER_UNKNOWN'))
  }

  /** What happened, by minute or by hour. */
  stats(query: QueryOf<'getStats'> = {}): Promise<CallAnswer<'getStats'>> {
    return this.#call('getStats', { query })
  }

  /** What your own tenant used, by day. */
  usage(query: QueryOf<'getUsage'> = {}): Promise<CallAnswer<'getUsage'>> {
    return this.#call('getUsage', { query })
  }

  /** Who did what, newest first. */
  audit(query: QueryOf<'listAudit'> = {}): Promise<CallAnswer<'listAudit'>> {
    return this.#call('listAudit', { query })
  }

  /** The progress of an operation. */
  operation(operationId: string): Promise<CallAnswer<'getOperation'>> {
    return this.#call('getOperation', { params: { operationId } })
  }

  cancelOperation(operationId: string): Promise<CallAnswer<'cancelOperation'>> {
    return this.#call('cancelOperation', { params: { operationId } })
  }
}
