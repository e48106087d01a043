/** Runs of graphs as people and programs handle them: started, read, cancelled, paused, resumed, retried. Bound to a tenant throughout. */
import { CarillonError, type DagRunStep, type Timed } from '@carillon/contract'
import { newId, stepId, stepIds, timeOf } from '../domain/identity.ts'
import { cursorOf, idOfCursor } from '../executions/cursor.ts'
import type { Clock } from '../lib/clock.ts'
import { type Activity, noActivity } from '../observability/activity.ts'
import type { RunMetrics } from '../observability/run-metrics.ts'
import type { Signals } from '../signals/port.ts'
import type { DagRecord } from '../store/dags/definitions.ts'
import {
  cancelRun,
  createRun,
  type DagRunFilter,
  type DagRunRecord,
  listRuns,
  type NewStep,
  pauseRun,
  readRun,
  readRunDefinitions,
  readRunSteps,
  readRunsBelow,
  retryRun,
  signalStep,
} from '../store/dags/runs.ts'
import type { Database } from '../store/database.ts'
import { entryOf, type Once } from '../store/idempotency/answers.ts'
import { aboveAllIds } from '../store/jobs/list.ts'
import type { DefinedStep } from './define-steps.ts'
import { type RunStep, runSteps } from './run-definitions.ts'

export type { DagRunFilter, DagRunRecord } from '../store/dags/runs.ts'

export interface DagRunsOptions {
  database: Database
  clock: Clock
  signals: Signals
  activity?: Activity
  metrics?: Pick<RunMetrics, 'started' | 'items'>
  /** Called with steps that ended as CANCELLED without an attempt. */
  onCancelled?: (executionIds: string[]) => void
}

/** A run that is asked for. `steps` in the order of their numbers; `stepsText`: the same as JSON text. */
export interface AskedRun {
  /** Null: the steps came with the run. */
  dag: Pick<DagRecord, 'dagId' | 'version'> | null
  name: string
  steps: readonly DefinedStep[]
  stepsText: string
  /** JSON text. */
  payload: string | null
  labels: Record<string, string> | null
  deadlineSec: number | null
  traceparent: string | null
  started?: StartedFrom
  fanOut?: FanOut
}

/** By an execution, which ends as the run does. */
export interface StartedFrom {
  runId: string
  executionId: string
  fence: number
  /** Graphs whose runs have led here. */
  ancestors: string[]
  paused: boolean
}

/** The steps are the items of a list. */
export interface FanOut {
  concurrency: number | null
  maxFailures: number
}

export interface RunPage {
  records: DagRunRecord[]
  nextCursor: string | null
}

export type DagRunStepRecord = Timed<DagRunStep, 'startedAt' | 'finishedAt', number>

const againMs = 5
const maxRounds = 400
const maxTries = 20

export class DagRuns {
  readonly #options: DagRunsOptions
  readonly #activity: Activity

  constructor(options: DagRunsOptions) {
    this.#options = options
    this.#activity = options.activity ?? noActivity
  }

  /** Throws STATE_CONFLICT if the graph has changed since it was read, AnsweredBefore if the request was answered. */
  async start(
    { tenant, actor }: { tenant: string; actor: string },
    asked: AskedRun,
    once?: Once<DagRunRecord>,
  ): Promise<DagRunRecord> {
    const { database, clock } = this.#options
    const { dag, name, steps, stepsText, payload, deadlineSec, traceparent, started, fanOut } = asked
    const now = Math.floor(clock.now())
    const at = started === undefined ? now : timeOf(started.runId)
    const labels = asked.labels ?? {}
    const own = {
      runId: started?.runId ?? newId(at),
      dagId: dag?.dagId ?? null,
      dagVersion: dag?.version ?? null,
      tenant,
      name,
      labels,
    }
    const born: DagRunRecord = {
      ...{
        ...own,
        state: 'RUNNING',
        paused: started?.paused ?? false,
        reason: null,
        stepCount: steps.length,
        doneCount: 0,
        failedCount: 0,
      },
      ...{ createdAt: now, finishedAt: null, deadlineAt: deadlineSec === null ? null : now + deadlineSec * 1_000 },
      ...{ traceparent, payload, startedBy: started?.executionId ?? null, fanOut: fanOut !== undefined },
    }
    const entry = await entryOf(once, born)
    const run = {
      ...{ ...own, payload, traceparent, steps: stepsText, at, createdAt: now, deadlineSec, paused: born.paused },
      ...{ startedBy: born.startedBy, startedFence: started?.fence ?? null, ancestors: started?.ancestors ?? null },
      ...{ fanOut: born.fanOut, concurrency: fanOut?.concurrency ?? null, maxFailures: fanOut?.maxFailures ?? 0 },
    }
    const made = await createRun(database, { run, steps: rowsOf(own.runId, steps), actor, entry })
    if (made === 'AGAIN') throw conflict('the graph was changed or deleted meanwhile', 'Try again')
    // By an earlier attempt of the execution that starts it.
    if (made === 'EXISTS') return born
    this.#activity.created(
      'DAG',
      steps.map(({ pool, handler }) => ({ tenant, pool, handler })),
    )
    if (fanOut === undefined) this.#options.metrics?.started(started === undefined ? 'REQUEST' : 'EXECUTION')
    else this.#options.metrics?.items(steps.length)
    this.#tellReleased()
    return born
  }

  async read(tenant: string, runId: string): Promise<DagRunRecord> {
    const run = await readRun(this.#options.database, tenant, runId)
    if (run) return run
    throw new CarillonError('DAG_RUN_NOT_FOUND', {
      message: `there is no run ${runId}`,
      hint: 'Check the id and the tenant; history is kept for a limited time',
    })
  }

  /** Each after those it depends on. */
  async readSteps({ runId }: DagRunRecord): Promise<DagRunStepRecord[]> {
    const { database } = this.#options
    const rows = await readRunSteps(database, runId)
    const steps = await this.#definition(runId)
    return rows.map(({ number, ...row }) => {
      const { name, dependsOn, waitFor } = steps[number]!
      return { name, waitFor, dependsOn: dependsOn.map((place) => steps[place]!.name), ...row }
    })
  }

  /** Newest first. */
  async list(
    tenant: string,
    filter: DagRunFilter,
    { limit, cursor }: { limit: number; cursor?: string },
  ): Promise<RunPage> {
    const before = cursor === undefined ? aboveAllIds : idOfCursor(cursor)
    const { records, next } = await listRuns(this.#options.database, { tenant, before, limit }, filter)
    return { records, nextCursor: next === null ? null : cursorOf(next) }
  }

  /** What has not started never does; what runs is told to stop. */
  async cancel(tenant: string, runId: string, actor: string): Promise<DagRunRecord> {
    await this.read(tenant, runId)
    const { database, signals } = this.#options
    const told = new Set<string>()
    for (let round = 0; ; round++) {
      const done = await cancelRun(database, { runId, reason: 'RUN_CANCELLED', actor })
      if (done?.ended && round === 0) throw conflict('the run has ended', 'Retry it if it is wanted after all')
      const cancelled = done?.steps.filter(({ verdict }) => verdict === 'CANCELLED').map((s) => s.executionId) ?? []
      if (cancelled.length > 0) {
        this.#options.onCancelled?.(cancelled)
        signals.publish({ kind: 'ENDED', executionIds: cancelled })
      }
      for (const { executionId, verdict, workerId, fence } of done?.steps ?? []) {
        if (verdict !== 'FLAGGED' || told.has(executionId)) continue
        told.add(executionId)
        signals.publish({ kind: 'CANCEL', workerId: workerId!, executionId, fence: fence!, reason: 'CANCELLED' })
      }
      // What moved on meanwhile is looked at again; a handler's own transaction may hold one for longer than we wait.
      if (!done?.steps.some(({ verdict }) => verdict === 'BUSY') || round === maxRounds) break
      await new Promise((resolve) => setTimeout(resolve, againMs))
    }
    this.#tellReleased()
    return this.read(tenant, runId)
  }

  async pause(tenant: string, runId: string, actor: string): Promise<DagRunRecord> {
    return this.#setPaused(tenant, { runId, paused: true, actor })
  }

  async resume(tenant: string, runId: string, actor: string): Promise<DagRunRecord> {
    const run = await this.#setPaused(tenant, { runId, paused: false, actor })
    this.#tellReleased()
    return run
  }

  /** Ends a step that waits for a signal. `result` is JSON text. */
  async signal(
    { tenant, actor }: { tenant: string; actor: string },
    { runId, step, result }: { runId: string; step: string; result: string | null },
  ): Promise<DagRunRecord> {
    const { database, signals } = this.#options
    await this.read(tenant, runId)
    const steps = await this.#definition(runId)
    const number = steps.findIndex(({ name }) => name === step)
    if (number < 0) throw conflict(`the run has no step ${step}`, 'See its steps: GET /v1/dag-runs/{runId}')
    if (steps[number]!.waitFor !== 'SIGNAL')
      throw conflict(`the step ${step} does not wait for a signal`, 'It runs a target')
    const executionId = stepId(runId, number)
    for (let round = 0; round <= maxRounds; round++) {
      const verdict = await signalStep(database, { runId, executionId, step, result, actor })
      if (verdict === null) throw await this.#notWaiting(runId, number)
      if (verdict === 'DONE') {
        signals.publish({ kind: 'ENDED', executionIds: [executionId] })
        this.#tellReleased()
        return this.read(tenant, runId)
      }
      await new Promise((resolve) => setTimeout(resolve, againMs))
    }
    throw conflict('the step is held by another transaction', 'Try again')
  }

  async #notWaiting(runId: string, number: number): Promise<CarillonError> {
    const row = (await readRunSteps(this.#options.database, runId)).find((each) => each.number === number)
    if (row?.state === 'BLOCKED')
      return conflict('the step does not wait yet', 'Signal it when the steps it depends on have ended')
    return conflict(`the step waits no more: it is ${row?.state}`, 'A signal counts once, and in time')
  }

  /** Runs again what has not SUCCEEDED. */
  async retry(tenant: string, runId: string, actor: string): Promise<DagRunRecord> {
    const { startedBy } = await this.read(tenant, runId)
    if (startedBy !== null) {
      const hint = `Retry the run it belongs to, or the execution: POST /v1/executions/${startedBy}/retry`
      throw conflict('the run was started by an execution, and ends as that does', hint)
    }
    return this.retryUnder(tenant, runId, { actor, fence: null })
  }

  /** `fence`: of the execution that has started it. */
  async retryUnder(
    tenant: string,
    runId: string,
    { actor, fence }: { actor: string; fence: number | null },
  ): Promise<DagRunRecord> {
    const { database } = this.#options
    for (let tries = 0; tries < maxTries; tries++) {
      const steps = await this.#definition(runId)
      const rows = await readRunSteps(database, runId)
      const kept = new Set(rows.filter(({ state }) => state === 'SUCCEEDED').map(({ number }) => number))
      const again = rows
        .filter(({ number }) => !kept.has(number))
        .map(({ executionId, number }) => {
          const waits = steps[number]!.dependsOn.filter((place) => !kept.has(place)).length
          return { executionId, waits }
        })
      const verdict = await retryRun(database, { runId, steps: again, actor, fence })
      if (verdict === 'AGAIN') continue
      if (verdict === 'DONE') {
        this.#tellReleased()
        const run = await this.read(tenant, runId)
        if (!run.fanOut) this.#options.metrics?.started('RETRY')
        return run
      }
      if (verdict === 'TOO_OLD')
        throw new CarillonError('OCCURRENCE_TOO_OLD', 'the history it belongs to is about to be dropped')
      throw conflict('only runs that FAILED or were CANCELLED can be retried', 'Check its state')
    }
    throw conflict('the run keeps changing', 'Try again')
  }

  async #setPaused(tenant: string, change: { runId: string; paused: boolean; actor: string }): Promise<DagRunRecord> {
    await this.read(tenant, change.runId)
    if (!(await pauseRun(this.#options.database, change)))
      throw conflict('the run has ended or is being cancelled', 'Check its state')
    await this.#setPausedBelow(change)
    return this.read(tenant, change.runId)
  }

  /** Runs that its steps have started. One that has ended meanwhile is left alone. */
  async #setPausedBelow({ runId, paused, actor }: { runId: string; paused: boolean; actor: string }): Promise<void> {
    for (const below of await readRunsBelow(this.#options.database, runId)) {
      await pauseRun(this.#options.database, { runId: below, paused, actor })
      await this.#setPausedBelow({ runId: below, paused, actor })
    }
  }

  #tellReleased(): void {
    this.#options.signals.publish({ kind: 'RELEASED', shards: null })
  }

  async #definition(runId: string): Promise<RunStep[]> {
    const [found] = await readRunDefinitions(this.#options.database, [runId])
    return runSteps(found!)
  }
}

function rowsOf(runId: string, steps: readonly DefinedStep[]): NewStep[] {
  const ids = stepIds(runId, steps.length)
  return steps.map(
    ({ name, pool, lane, handler, payload, policy, labels, allowFailure, dependsOn, children }, number) => ({
      ...{ executionId: ids[number]!, name, pool, lane, handler, payload, policy, labels, allowFailure },
      waits: dependsOn.length,
      children: children.map((place) => ids[place]!),
    }),
  )
}

function conflict(message: string, hint: string): CarillonError {
  return new CarillonError('STATE_CONFLICT', { message, hint })
}
