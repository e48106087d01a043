/** Graphs of steps and their runs: calls of the client and of library mode, as those in `groups.ts`. */
import {
  checkOptions,
  type Dag,
  type DagInput,
  type DagRun,
  type DagRunSummary,
  type InlineRunInput,
  type Job,
  type RunInput,
  type ScheduleOptions,
  scheduleOptionNames,
} from '@carillon/contract'
import { Backoff } from '@carillon/contract/process'
import { encodeJson } from '../json.ts'
import { pause } from '../pause.ts'
import type { Call, QueryOf } from './groups.ts'
import type { CallAnswer } from './operations.ts'
import { ifMatch, newKey, unless } from './requests.ts'
import { jobInputTo } from './submission.ts'

/** A run is read in whole, with all its steps: a long one is not asked for often. */
const waitBackoff = { initialMs: 200, maxMs: 5_000 }
const forever = Number.POSITIVE_INFINITY
const never = new AbortController().signal

/** A graph is named by its id or its key everywhere here. */
export class DagCalls {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /**
   * Creates a graph, or changes the one with the same `key`.
   *
   * @example
   * ```ts
   * import { createClient } from '@carillon/sdk'
   *
   * const client = createClient({ urls: ['http://127.0.0.1:7171'] })
   * const extract = { name: 'extract', target: { handler: 'extract' } }
   * const load = { name: 'load', target: { handler: 'load' }, dependsOn: ['extract'] }
   * await client.dags.create({ key: 'nightly', steps: [extract, load] })
   * ```
   */
  create(body: DagInput): Promise<Dag> {
    return this.#call('createDag', { body, headers: newKey() })
  }

  /** Newest first; `nextCursor` of one page is the `cursor` of the next. */
  list(query: QueryOf<'listDags'> = {}): Promise<CallAnswer<'listDags'>> {
    return this.#call('listDags', { query })
  }

  /** Null: there is none. */
  get(dag: string): Promise<Dag | null> {
    return this.#call('getDag', { params: { dagId: dag } }).catch(unless('DAG_NOT_FOUND'))
  }

  /** Gives it another definition; runs under way keep theirs. With `version`, only if it is still that one. */
  replace(dag: string, body: DagInput, options: { version?: number } = {}): Promise<Dag> {
    return this.#call('replaceDag', { params: { dagId: dag }, body, headers: ifMatch(options) })
  }

  /** It takes no more runs; those under way go on. With `version`, only if it is still that one. */
  async delete(dag: string, options: { version?: number } = {}): Promise<void> {
    await this.#call('deleteDag', { params: { dagId: dag }, headers: ifMatch(options) })
  }

  /**
   * Starts a run. With an `idempotencyKey`, such as the id of an execution whose handler does so, the same key starts one run.
   *
   * @example
   * ```ts
   * import { createClient } from '@carillon/sdk'
   *
   * const client = createClient({ urls: ['http://127.0.0.1:7171'] })
   * const { runId } = await client.dags.run('nightly', { payload: { day: '2030-01-31' } })
   * const { state, steps } = await client.dagRuns.wait(runId, { waitMs: 600_000 })
   * console.log(state, steps.map((step) => `${step.name} ${step.state}`))
   * ```
   */
  async run(dag: string, input: RunInput = {}, options: { idempotencyKey?: string } = {}): Promise<DagRunSummary> {
    checkPayload(input)
    return this.#call('runDag', { params: { dagId: dag }, body: input, headers: newKey(options) })
  }

  /**
   * Creates a job that starts a run each time, or changes the one with the same `key`. Its executions last as long as the runs do, for its
   * overlap policy too.
   *
   * @example
   * ```ts
   * import { createClient } from '@carillon/sdk'
   *
   * const client = createClient({ urls: ['http://127.0.0.1:7171'] })
   * await client.dags.schedule('nightly', { key: 'nightly at three', cron: '0 3 * * *', overlap: 'FORBID' })
   * ```
   */
  async schedule(dag: string, options: ScheduleOptions & { payload?: unknown }): Promise<Job> {
    checkOptions(options, [...scheduleOptionNames, 'payload'])
    checkPayload(options)
    const { payload, ...rest } = options
    return this.#call('createJob', { body: jobInputTo({ dag }, payload, rest), headers: newKey() })
  }
}

/** Runs of graphs. Their steps are executions, which `executions` reads, explains and cancels one by one. */
export class DagRunCalls {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /**
   * Starts a run with steps of its own, of a graph that is kept nowhere else.
   *
   * @example
   * ```ts
   * import { createClient } from '@carillon/sdk'
   *
   * const client = createClient({ urls: ['http://127.0.0.1:7171'] })
   * const { runId } = await client.dagRuns.start({
   *   name: 'once',
   *   steps: [
   *     { name: 'extract', target: { handler: 'extract' } },
   *     { name: 'load', target: { handler: 'load' }, dependsOn: ['extract'] },
   *   ],
   * })
   * console.log(runId)
   * ```
   */
  async start(body: InlineRunInput, options: { idempotencyKey?: string } = {}): Promise<DagRunSummary> {
    checkPayload(body)
    return this.#call('runSteps', { body, headers: newKey(options) })
  }

  /** Newest first, without their steps. */
  list(query: QueryOf<'listDagRuns'> = {}): Promise<CallAnswer<'listDagRuns'>> {
    return this.#call('listDagRuns', { query })
  }

  /** The run with its steps; null: there is none. */
  get(runId: string): Promise<DagRun | null> {
    return this.#call('getDagRun', { params: { runId } }).catch(unless('DAG_RUN_NOT_FOUND'))
  }

  /** What has not started never does; what runs is told to stop. */
  cancel(runId: string): Promise<DagRunSummary> {
    return this.#call('cancelDagRun', { params: { runId } })
  }

  /** What is ready or runs goes on; steps that become ready after that wait. */
  pause(runId: string): Promise<DagRunSummary> {
    return this.#call('pauseDagRun', { params: { runId } })
  }

  resume(runId: string): Promise<DagRunSummary> {
    return this.#call('resumeDagRun', { params: { runId } })
  }

  /** Ends a step with `waitFor: 'SIGNAL'`; `payload` is its result. Refused if it does not wait yet, or waits no more. */
  async signal(runId: string, step: string, payload?: unknown): Promise<DagRunSummary> {
    const body = payload === undefined ? {} : { payload }
    checkPayload(body)
    return this.#call('signalStep', { params: { runId, step }, body })
  }

  /** Of a run that FAILED or was CANCELLED: what has SUCCEEDED is kept, all else runs again. */
  retry(runId: string): Promise<DagRunSummary> {
    return this.#call('retryDagRun', { params: { runId } })
  }

  /**
   * The run once it has ended, however it did: `state` says how. Throws if that takes longer than `waitMs`, and the reason of
   * `signal` if it aborts; the run goes on.
   */
  async wait(runId: string, options: { waitMs?: number; signal?: AbortSignal } = {}): Promise<DagRun> {
    checkOptions(options, ['waitMs', 'signal'])
    const { waitMs = forever, signal = never } = options
    const until = performance.now() + waitMs
    const backoff = new Backoff(waitBackoff)
    for (;;) {
      signal.throwIfAborted()
      const run = await this.#call('getDagRun', { params: { runId } }, { signal })
      if (run.state !== 'RUNNING') return run
      const leftMs = until - performance.now()
      if (leftMs <= 0) throw new Error(`Run ${runId} has not ended within ${waitMs} ms; it goes on`)
      await pause(Math.min(backoff.nextMs(), leftMs), signal)
    }
  }
}

/** Refuses what JSON cannot hold, which would be dropped on the way. */
function checkPayload({ payload }: { payload?: unknown }): void {
  if (payload !== undefined) encodeJson(payload, 'payload')
}
