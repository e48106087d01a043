/**
 * Executions that stand for a run: of a graph (`target: { dag }`), or of the items of a list (a step with `forEach`). The execution starts
 * the run, waits for it without a worker, and ends as the run does: run-ends.ts tells it.
 *
 * What must stay true: an execution has one run, whose id is computed from it, however often it is tried. An attempt that finds the
 * run takes it under its own fence; one that finds it failed retries it, keeping what has SUCCEEDED. A run whose execution does
 * not wait for it any more is cancelled by the sweeper.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { CarillonError, type DagStep, JsonText, limits } from '@carillon/contract'
import { encodeJson, PermanentError } from '@carillon/sdk'
import { parseListPath } from '../domain/dag/list-path.ts'
import { startedRunId } from '../domain/identity.ts'
import { withLimitKeys } from '../jobs/policy.ts'
import { type ParentStep, readParentStep, readRunResults, takeRun } from '../store/dags/started.ts'
import type { Database } from '../store/database.ts'
import { waitOut } from '../store/wait-out.ts'
import { defineSteps, labelsOf } from './define-steps.ts'
import { itemsAt } from './items.ts'
import { itemName } from './run-definitions.ts'
import { resultOf } from './run-ends.ts'
import type { DagRuns, StartedFrom } from './runs.ts'
import { type RunStarterOptions, startRun } from './start-run.ts'
import { parseSteps, stepsText } from './steps-text.ts'

/** An attempt at such an execution. */
export interface Standing {
  executionId: string
  fence: number
  tenant: string
  labels: Readonly<Record<string, string>>
  traceparent: string | null
  payload: unknown
  /** Null: it is a step with `forEach`. */
  dag: string | null
  signal: AbortSignal
}

/** WAITS: the outcome comes when the run ends. Otherwise the result, JSON text. */
export type Started = 'WAITS' | { result: string }

export interface StartedRunsOptions extends Omit<RunStarterOptions, 'dagRuns'> {
  database: Database
  dagRuns: Pick<DagRuns, 'start' | 'retryUnder'>
}

const actor = 'scheduler'
const againMs = 50
/** Runs inside each other. */
const maxDepth = 10

/** A run that is wanted: what it is computed from besides its execution, and how to create it. */
interface Wanted {
  identity: string | null
  isFanOut: boolean
  create: (runId: string) => Promise<unknown>
}

export class StartedRuns {
  readonly #options: StartedRunsOptions

  constructor(options: StartedRunsOptions) {
    this.#options = options
  }

  /**
   * Throws PermanentError for what can never be started. Trouble of the database is waited out: most have one attempt, which is for what
   * the run comes to.
   */
  start(standing: Standing): Promise<Started> {
    return waitOut(() => this.#start(standing), { forMs: Number.POSITIVE_INFINITY, signal: standing.signal })
  }

  async #start(standing: Standing): Promise<Started> {
    const { database } = this.#options
    const parent = await readParentStep(database, standing.executionId)
    const step = parent === null || parent.fanOut ? null : parseSteps(parent.steps)[parent.number]!
    if (parent !== null && step?.forEach !== undefined) return this.#startItems(standing, parent, step)
    if (standing.dag === null) throw new PermanentError('the execution has no graph')
    const payload = payloadOfRun(standing, parent, step)
    return this.#take(standing, {
      identity: payload?.text ?? null,
      isFanOut: false,
      create: (runId) => this.#createRun(standing, parent, { runId, payload }),
    })
  }

  async #startItems(standing: Standing, parent: ParentStep, step: DagStep): Promise<Started> {
    const items = itemsAt(parseListPath(step.forEach!)!, parent)
    if ('error' in items) throw new PermanentError(items.error)
    if (items.length === 0) return { result: '[]' }
    return this.#take(standing, {
      identity: `[${items.join(',')}]`,
      isFanOut: true,
      create: (runId) => this.#createFanOut(standing, parent, { runId, step, items }),
    })
  }

  async #take(
    { executionId, fence, tenant, signal }: Standing,
    { identity, isFanOut, create }: Wanted,
  ): Promise<Started> {
    const { database, dagRuns } = this.#options
    const runId = startedRunId(executionId, identity)
    for (;;) {
      const state = await takeRun(database, { runId, executionId, fence })
      if (state === 'RUNNING') return 'WAITS'
      if (state === 'SUCCEEDED')
        return resultOrRefusal(await readRunResults(database, runId, limits.stepInputBytes), isFanOut)
      if (state === null) await create(runId)
      else if (state === 'ENDING') await pause(againMs, undefined, { signal })
      else await dagRuns.retryUnder(tenant, runId, { actor, fence })
    }
  }

  async #createRun(
    standing: Standing,
    parent: ParentStep | null,
    { runId, payload }: { runId: string; payload: JsonText | null },
  ): Promise<unknown> {
    const { tenant, labels, traceparent } = standing
    const input = {
      labels: { ...labels },
      ...(payload !== null && { payload }),
      ...(traceparent !== null && { traceparent }),
    }
    const ancestors = ancestorsOf(parent)
    const started = ({ dagId, name }: { dagId: string; name: string }): StartedFrom => {
      if (ancestors.includes(dagId)) throw new PermanentError(`the graph ${name} would run inside a run of itself`)
      return this.#from(standing, parent, { runId, ancestors })
    }
    try {
      return await startRun(this.#options, { tenant, actor }, standing.dag!, input, undefined, started)
    } catch (error) {
      throw refusal(error)
    }
  }

  async #createFanOut(
    standing: Standing,
    parent: ParentStep,
    { runId, step, items }: { runId: string; step: DagStep; items: string[] },
  ): Promise<unknown> {
    const { clock, jobs, dagRuns } = this.#options
    const { tenant, labels, traceparent } = standing
    const {
      dependsOn: _,
      runIf: __,
      when: ___,
      forEach: ____,
      allowFailure: _____,
      concurrency,
      maxFailures,
      ...item
    } = step
    const ancestors = ancestorsOf(parent)
    const started = this.#from(standing, parent, { runId, ancestors })
    try {
      const [defined] = await defineSteps([item], { tenant, labels, now: clock.now(), jobs, ofItems: true })
      const steps = items.map((payload, number) => ({
        ...{ ...defined!, name: itemName(step.name, number), payload },
        policy: withLimitKeys(defined!.policy, payload),
      }))
      return await dagRuns.start(
        { tenant, actor },
        {
          ...{
            dag: null,
            name: `${parent.runName.slice(0, limits.nameLength - 1 - step.name.length)}.${step.name}`,
            steps,
          },
          ...{ stepsText: stepsText([item]), payload: parent.payload, labels: labelsOf({}, labels), deadlineSec: null },
          ...{ traceparent, started, fanOut: { concurrency: concurrency ?? null, maxFailures: maxFailures ?? 0 } },
        },
      )
    } catch (error) {
      throw refusal(error)
    }
  }

  #from(
    { executionId, fence }: Standing,
    parent: ParentStep | null,
    { runId, ancestors }: { runId: string; ancestors: string[] },
  ): StartedFrom {
    if (ancestors.length > maxDepth)
      throw new PermanentError(`it would be a run inside ${ancestors.length} others, more than the ${maxDepth} allowed`)
    return { runId, executionId, fence, ancestors, paused: parent?.paused ?? false }
  }
}

/** Its own; a step that has none passes on what it was given itself. */
function payloadOfRun({ payload }: Standing, parent: ParentStep | null, step: DagStep | null): JsonText | null {
  if (parent === null || step === null || step.payload !== undefined)
    return payload === null && step?.payload === undefined ? null : new JsonText(encodeJson(payload, 'payload'))
  const given = [`"step":${JSON.stringify(step.name)}`, `"payload":${parent.payload ?? 'null'}`]
  if (parent.inputs !== null) given.push(parent.inputs)
  const text = `{${given.join(',')}}`
  if (Buffer.byteLength(text) <= limits.payloadBytes) return new JsonText(text)
  throw new PermanentError(
    'what the step is given is larger than the payload of a run may be: give it a payload of its own',
  )
}

/** The graphs whose runs it is inside of. */
function ancestorsOf(parent: ParentStep | null): string[] {
  if (parent === null) return []
  return [...(parent.ancestors ?? []), ...(parent.dagId === null ? [] : [parent.dagId])]
}

/** What a request would be refused for, an attempt fails for. */
function refusal(error: unknown): unknown {
  if (!(error instanceof CarillonError) || error.status >= 500) return error
  return new PermanentError(error.message)
}

function resultOrRefusal(results: { name: string; result: string | null }[] | null, isFanOut: boolean): Started {
  const result = resultOf(results, isFanOut)
  if (result === null)
    throw new PermanentError('the results of the run are too large together: return references to them')
  return { result }
}
