/** What can be said of the steps of a run: what depends on what, what is left, and what decided how long the run took. */
import type { DagRun, DagRunStep, StartedRun } from '@carillon/contract'
import { count, duration } from '../../lib/time.ts'
import { isEnd } from '../executions/filter.ts'
import type { GraphStep } from './graph-step.ts'

/** By name: the steps that depend on it. */
export function dependantsOf(steps: readonly { name: string; dependsOn: readonly string[] }[]): Map<string, string[]> {
  const found = new Map<string, string[]>(steps.map(({ name }) => [name, []]))
  for (const { name, dependsOn } of steps) for (const each of dependsOn) found.get(each)?.push(name)
  return found
}

/** How long its latest attempt took; null: it never ran, or runs still. */
export function stepTookMs({ startedAt, finishedAt, state }: DagRunStep): number | null {
  if (startedAt === null || finishedAt === null || state === 'SKIPPED') return null
  return Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt))
}

export interface Chain {
  /** First to last. */
  names: string[]
  /** From when the first could start to when the last ended. */
  tookMs: number
}

/**
 * The chain of steps that decided when a run ended: from the step that ended last, back over those whose end it waited for. The time of a
 * step counts from the end of what it waited for to its own, with the wait for a worker and earlier attempts, so this is the longest
 * chain there is. Empty if no step ran.
 */
export function criticalPath({ steps, createdAt }: Pick<DagRun, 'steps' | 'createdAt'>): Chain {
  const byName = new Map(steps.map((step) => [step.name, step]))
  let at = lastOf(steps.filter(({ startedAt, state }) => startedAt !== null && state !== 'SKIPPED'))
  if (!at) return { names: [], tookMs: 0 }
  const tookMs = Math.max(0, endOf(at) - Date.parse(createdAt))
  const names: string[] = []
  while (at) {
    names.unshift(at.name)
    at = lastOf(at.dependsOn.flatMap((name) => byName.get(name) ?? []))
  }
  return { names, tookMs }
}

/** The first of those that ended last. */
function lastOf(steps: readonly DagRunStep[]): DagRunStep | undefined {
  return steps.reduce<DagRunStep | undefined>(
    (last, step) => (endOf(step) > (last ? endOf(last) : Number.NEGATIVE_INFINITY) ? step : last),
    undefined,
  )
}

function endOf({ finishedAt }: DagRunStep): number {
  return finishedAt === null ? Number.NEGATIVE_INFINITY : Date.parse(finishedAt)
}

/** What cancelling touches. */
export function leftOf(steps: readonly DagRunStep[]): { running: number; waiting: number } {
  const left = steps.filter(({ state }) => !isEnd(state))
  const running = left.filter(({ state }) => state === 'RUNNING').length
  return { running, waiting: left.length - running }
}

/** What a retry runs again. */
export function notSucceeded(steps: readonly DagRunStep[]): number {
  return steps.filter(({ state }) => state !== 'SUCCEEDED').length
}

/** How many steps are in each state, in the order in which a reader looks for them. */
export function countsOf(steps: readonly { state: string }[]): [state: string, count: number][] {
  const counts = new Map<string, number>()
  for (const { state } of steps) counts.set(state, (counts.get(state) ?? 0) + 1)
  const rank = (state: string) => (order.includes(state) ? order.indexOf(state) : order.length)
  return [...counts].sort(([a], [b]) => rank(a) - rank(b))
}

const order = [
  'DEAD',
  'FAILED',
  'TIMED_OUT',
  'WORKER_LOST',
  'RUNNING',
  'PENDING',
  'BLOCKED',
  'CANCELLED',
  'SKIPPED',
  'SUCCEEDED',
]

/** How far the run is that a step has started. */
export function startedText({ doneCount, stepCount, failedCount }: StartedRun): string {
  return `${count(doneCount)} of ${count(stepCount)} done${failedCount > 0 ? `, ${count(failedCount)} failed` : ''}`
}

/** As the drawing takes it. */
export function graphStepOf(step: DagRunStep): GraphStep {
  const { name, dependsOn, state, startedAt } = step
  const about = aboutOf(step)
  return {
    ...{ name, dependsOn, state },
    ...(about !== undefined && { about }),
    ...(state === 'RUNNING' && startedAt !== null && step.run === null && { runsSince: startedAt }),
  }
}

function aboutOf(step: DagRunStep): string | undefined {
  const { state, waitsFor, attempt, error, reason, run } = step
  if (run !== null && (state === 'RUNNING' || state === 'SUCCEEDED')) return startedText(run)
  const tookMs = stepTookMs(step)
  if (state === 'SUCCEEDED') return `${duration(tookMs)}${attempt > 1 ? `, attempt ${attempt}` : ''}`
  if (state === 'BLOCKED') return waitsFor === 1 ? 'waits for 1 step' : `waits for ${waitsFor} steps`
  if (error !== null) return error.name
  return reason?.replaceAll('_', ' ').toLowerCase() ?? undefined
}
