/**
 * The calls of an installation besides submitting work, in groups. The client makes them over HTTP, library mode in process:
 * both by the same operations of the contract, so each rule exists once, in the route that answers.
 */
import type { BackfillInput, BulkInput, Execution, Explanation, Job, JobPatch, WireJobInput } from '@carillon/contract'
import { CarillonError, checkOptions } from '@carillon/contract'
import type { CallAnswer, CallInput, OperationId } from './operations.ts'

export type Call = <Id extends OperationId>(operation: Id, input: CallInput<Id>) => Promise<CallAnswer<Id>>

type QueryOf<Id extends OperationId> = CallInput<Id> extends { query?: infer Query } ? NonNullable<Query> : never
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
    return this.#call('getJob', { params: { jobId: job } }).catch((error: unknown) => {
      if (error instanceof CarillonError && error.code === 'JOB_NOT_FOUND') return null
      throw error
    })
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

  /** When a schedule would fire. */
  preview(body: BodyOf<'previewSchedule'>): Promise<CallAnswer<'previewSchedule'>> {
    return this.#call('previewSchedule', { body })
  }

  executions(job: string, query: QueryOf<'listJobExecutions'> = {}): Promise<CallAnswer<'listJobExecutions'>> {
    return this.#call('listJobExecutions', { params: { jobId: job }, query })
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

  listDead(query: QueryOf<'listDeadLetters'> = {}): Promise<CallAnswer<'listDeadLetters'>> {
    return this.#call('listDeadLetters', { query })
  }

  replayDead(body: BodyOf<'replayDeadLetters'>): Promise<CallAnswer<'replayDeadLetters'>> {
    return this.#call('replayDeadLetters', { body })
  }

  purgeDead(body: BodyOf<'purgeDeadLetters'>): Promise<CallAnswer<'purgeDeadLetters'>> {
    return this.#call('purgeDeadLetters', { body })
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
}

export class InstallationCalls {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** Whether the node can serve, and what prevents it. */
  health(): Promise<CallAnswer<'readyz'>> {
    return this.#call('readyz', {})
  }

  /** Metrics in the format of Prometheus. */
  async metrics(): Promise<string> {
    return String(await this.#call('metrics', {}))
  }

  workers(query: QueryOf<'listWorkers'> = {}): Promise<CallAnswer<'listWorkers'>> {
    return this.#call('listWorkers', { query })
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

function ifMatch(options: { version?: number }): { 'if-match'?: string } {
  checkOptions(options, ['version'])
  return options.version === undefined ? {} : { 'if-match': String(options.version) }
}
