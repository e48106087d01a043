/** From the steps of a request to what their executions are made of. A step is asked for, and refused, as a submission is. */
import {
  CarillonError,
  type DagStep,
  type ErrorDetail,
  type JobInput,
  limits,
  policyOfRuns,
  type RunCondition,
  ranges,
} from '@carillon/contract'
import { encodeJson } from '@carillon/sdk'
import { builtInName, signalName } from '../domain/built-in-targets.ts'
import { conditionProblems } from '../domain/dag/condition.ts'
import { graphProblems, inOrder } from '../domain/dag/graph.ts'
import { listPathProblems } from '../domain/dag/list-path.ts'
import { defineJob } from '../jobs/define.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { placeCheck } from '../jobs/place-check.ts'
import { eventLoopYielder } from '../lib/event-loop-yielder.ts'
import type { StoredPolicy } from '../store/rows.ts'
import { Mistakes } from './mistakes.ts'

/** What a step runs, and how. */
export interface StepWork {
  /** What the queue tables call its pool. */
  pool: string
  lane: number
  handler: string
  /** JSON text. */
  payload: string | null
  policy: StoredPolicy | null
  labels: Record<string, string> | null
}

export interface DefinedStep extends StepWork {
  name: string
  /** Places among the defined steps: of those it depends on, and of those that depend on it. */
  dependsOn: number[]
  children: number[]
  runIf: RunCondition
  allowFailure: boolean
}

export interface StepsContext {
  tenant: string
  /** Of the graph and the run. A step's own win. */
  labels: Readonly<Record<string, string>> | null
  now: number
  jobs: Pick<Jobs, 'require'>
  /** Of a list: each has a payload of its own. */
  ofItems?: boolean
}

/** In the order of `inOrder`. Everything that is wrong is told at once, under `/steps`. */
export async function defineSteps(steps: readonly DagStep[], context: StepsContext): Promise<DefinedStep[]> {
  const { tenant, jobs } = context
  const mistakes = new Mistakes()
  mistakes.add(graphProblems(steps))
  const works = new Map<DagStep, StepWork>()
  const place = placeCheck(jobs, tenant)
  const yieldIfDue = eventLoopYielder()
  for (const [at, step] of steps.entries()) {
    const pause = yieldIfDue()
    if (pause) await pause
    if (mistakes.many) break
    const pointer = `/steps/${at}`
    await mistakes.try(pointer, () => checkStep(step))
    const payload = await mistakes.try(pointer, () => payloadOf(step))
    const labels = await mistakes.try(pointer, () => labelsOf(step, context.labels))
    const work = await mistakes.try(pointer, () => workOf({ ...step, labels: labels ?? undefined }, payload, context))
    if (work === null) continue
    const pool = await mistakes.try(pointer, () => (step.target === undefined ? signalName : place(inputOf(step))))
    if (pool === null) continue
    works.set(step, step.forEach === undefined ? { ...work, pool } : fanOutWork(work))
  }
  mistakes.throwIfAny()
  return inOrder(steps).map(({ step, dependsOn, children }) => {
    const { name, runIf = 'ALL_SUCCEEDED', allowFailure = false } = step
    return { name, dependsOn, children, runIf, allowFailure, ...works.get(step)! }
  })
}

/** What a submission has not: throws everything that is wrong with it. */
export function checkStep(step: DagStep): void {
  const { when, forEach, dependsOn = [] } = step
  const problems = [...waitProblems(step), ...fanOutProblems(step)]
  if (forEach !== undefined)
    problems.push(...listPathProblems(forEach, dependsOn).map((each) => ({ ...each, pointer: '/forEach' })))
  if (when !== undefined)
    problems.push(...conditionProblems(when, dependsOn).map((each) => ({ ...each, pointer: '/when' })))
  if (problems.length > 0) throw new CarillonError('VALIDATION', problems)
}

/** Pure: its pool is the name that was asked for. */
export function workOf(
  step: DagStep,
  payload: string | null,
  { tenant, now, ofItems = step.forEach !== undefined }: { tenant: string; now: number; ofItems?: boolean },
): StepWork {
  const defined = defineJob(inputOf(step), { jobId: '', tenant, payload, now, payloadsToCome: ofItems })
  const { pool, lane, handler, policy, labels } = defined
  if (step.waitFor === undefined) return { pool, lane, handler, payload, policy, labels }
  // It ends once, by the signal, its timeout or a cancel, for which nobody needs a grace.
  const waiting = {
    timeoutSec: step.timeoutSec ?? ranges.timeoutSec.max,
    retryPolicy: { maxAttempts: 1 },
    cancelGraceSec: 0,
  }
  return { pool: signalName, lane, handler: signalName, payload, policy: waiting, labels }
}

/** Either a target or what it waits for; what says how a target is run goes with a target. */
function waitProblems({ target, waitFor, ...rest }: DagStep): ErrorDetail[] {
  if (waitFor === undefined) {
    const hint = 'Say which handler runs it: { handler }; or what it waits for: waitFor'
    return target === undefined ? [{ pointer: '/target', message: 'target is required', hint }] : []
  }
  const foreign =
    target === undefined
      ? []
      : [{ pointer: '/waitFor', message: 'waitFor stands instead of a target', hint: 'Leave out one of them' }]
  const ofOthers = ofTargets.filter((field) => rest[field] !== undefined)
  const hint = 'Leave it out: the step waits, and nothing is run'
  return [
    ...foreign,
    ...ofOthers.map((field) => ({ pointer: `/${field}`, message: `${field} goes with a target`, hint })),
  ]
}

/** What stands for the executions of all items: it starts a run of them. */
function fanOutWork({ lane, labels }: StepWork): StepWork {
  const name = builtInName('dag')
  return { pool: name, lane, handler: name, payload: null, policy: policyOfRuns({}), labels }
}

/** So that the names of the items are names of steps, too. */
const longestFanOut = 94

function fanOutProblems({ name, forEach, concurrency, maxFailures, payload, waitFor }: DagStep): ErrorDetail[] {
  if (forEach === undefined) {
    const hint = 'Leave it out, or say over which list the step runs: forEach'
    return Object.entries({ concurrency, maxFailures }).flatMap(([field, value]) =>
      value === undefined ? [] : [{ pointer: `/${field}`, message: `${field} goes with forEach`, hint }],
    )
  }
  const problems: ErrorDetail[] = []
  if (payload !== undefined) {
    const hint = 'Leave it out, or put what all need into the payload of the run'
    problems.push({ pointer: '/payload', message: 'with forEach, the payload of each execution is its item', hint })
  }
  if (waitFor !== undefined)
    problems.push({ pointer: '/forEach', message: 'forEach goes with a target', hint: 'Leave out one of them' })
  if (name.length > longestFanOut) {
    const message = `the name of a step with forEach has at most ${longestFanOut} characters`
    problems.push({ pointer: '/name', message, hint: 'Its items add their numbers to it: choose a shorter one' })
  }
  return problems
}

const ofTargets = [
  ...(['payload', 'retryPolicy', 'heartbeatTimeoutSec', 'startWithinSec', 'deadlineSec'] as const),
  ...(['cancelGraceSec', 'unknownHandlerSec', 'delivery', 'limits'] as const),
]

export function payloadOf({ payload }: { payload?: unknown }): string | null {
  return payload === undefined ? null : encodeJson(payload, 'payload')
}

/** With those that it inherits. */
export function labelsOf(
  { labels }: { labels?: Record<string, string> },
  inherited: StepsContext['labels'],
): Record<string, string> {
  const all = { ...inherited, ...labels }
  const count = Object.keys(all).length
  if (count <= limits.labels) return all
  throw new CarillonError('VALIDATION', {
    pointer: '/labels',
    message: `labels has ${count} entries, with those that are inherited`,
    hint: `At most ${limits.labels}`,
  })
}

function inputOf({ name, dependsOn: _, runIf: __, allowFailure: ___, payload: ____, ...asked }: DagStep): JobInput {
  const { when: _____, waitFor: ______, forEach: ________, concurrency: _________, ...more } = asked
  const { maxFailures: __________, target = { handler: 'none' }, ...rest } = more
  return { ...rest, target, name, type: 'ONE_SHOT' }
}
