/** Runs of graphs as people handle them: started, cancelled, paused, resumed, retried, signalled; and their deadlines. */
import { stepId } from '../../../packages/server/src/domain/identity.ts'
import { report } from './attempts.ts'
import { mayGoOn, openSteps, type Run, type RunIf, type Step, stepOf, type When } from './graph.ts'
import { after, birth, stop } from './life.ts'
import { anew } from './people.ts'
import { type Execution, nameOf, type Work, type World } from './world.ts'

/** A step as it is asked for; it depends on steps before it, named by their places. */
export interface AskedStep {
  name: string
  work: Work
  dependsOn: number[]
  runIf: RunIf
  when: When | null
  allowFailure: boolean
  waitsForSignal: boolean
}

export type Conflict = 'STATE_CONFLICT'

export function startRun(world: World, { id, steps, deadlineSec }: AskedRun): Run {
  const { now } = world
  const run: Run = {
    ...{ id, name: nameOf(world, 'run '), steps: [], createdAt: now, deadlineAt: after(now, deadlineSec) },
    ...{ paused: false, cancel: null, end: null },
  }
  steps.forEach(({ work, dependsOn, ...rest }, number) => {
    const execution = birth(world, {
      ...{ id: stepId(id, number), job: null, origin: 'DAG', work, scheduledFor: now, dueAt: now, expiresAt: null },
    })
    execution.run = run
    execution.deadlineAt = null
    execution.place = { in: 'blocked', held: false }
    run.steps.push({ ...rest, execution, dependsOn: dependsOn.map((place) => run.steps[place]!) })
  })
  world.runs.set(id, run)
  return run
}

export interface AskedRun {
  id: string
  steps: AskedStep[]
  deadlineSec: number | null
}

/** What has not started never does; what runs is told to stop. The first reason stands. */
export function cancelRun(world: World, run: Run, reason: 'RUN_CANCELLED' | 'RUN_DEADLINE'): Conflict | null {
  if (run.end !== null) return 'STATE_CONFLICT'
  run.cancel ??= { reason }
  for (const { execution } of openSteps(run)) stop(world, execution, reason)
  return null
}

/** What is ready or runs goes on. */
export function pauseRun(run: Run): Conflict | null {
  if (run.end !== null || run.cancel !== null) return 'STATE_CONFLICT'
  run.paused = true
  return null
}

export function resumeRun(run: Run): Conflict | null {
  if (run.end !== null || run.cancel !== null) return 'STATE_CONFLICT'
  run.paused = false
  for (const { place } of run.steps.map(({ execution }) => execution)) if (place.in === 'blocked') place.held = false
  return null
}

/** What has SUCCEEDED is kept; all else begins anew, without the times of its first life. */
export function retryRun(run: Run): Conflict | null {
  if (run.end === null || run.end.state === 'SUCCEEDED') return 'STATE_CONFLICT'
  for (const { execution } of run.steps) {
    const { place } = execution
    if (place.in === 'ledger' && place.state === 'SUCCEEDED') continue
    anew(execution)
    execution.progress = null
    execution.workerId = null
    execution.inputs = null
    execution.expiresAt = null
    execution.deadlineAt = null
    execution.timeline.push('BLOCKED REPLAYED')
    execution.place = { in: 'blocked', held: false }
  }
  run.end = null
  run.cancel = null
  run.deadlineAt = null
  return null
}

/** Counts once, and while the step waits. */
export function signal(world: World, step: Step, result: string): Conflict | null {
  const { place } = step.execution
  const waits = place.in === 'running' && place.lease.cancel === null && place.lease.overdueAt > world.now
  if (!step.waitsForSignal || !waits) return 'STATE_CONFLICT'
  report(world, step.execution, place.lease.fence, { outcome: 'SUCCEEDED', result })
  return null
}

/** Runs past their deadline; what is left of them is cancelled. */
export function expireRuns(world: World): void {
  for (const run of world.runs.values()) {
    if (run.end === null && run.deadlineAt !== null && run.deadlineAt <= world.now) {
      cancelRun(world, run, 'RUN_DEADLINE')
    }
  }
}

export function waitsForSignal(execution: Execution): boolean {
  return stepOf(execution)?.waitsForSignal ?? false
}

/** Whether a leader has something to do for it. */
export function canAdvance(run: Run): boolean {
  return run.end === null && (openSteps(run).length === 0 || run.steps.some(mayGoOn))
}
