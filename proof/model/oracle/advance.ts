/**
 * ADVANCE: what the leader of a run's shard makes of steps that wait for nothing more, and of runs whose steps have all ended. It looks,
 * and then acts on what it saw, as far as that is still so.
 */
import { countOf, failuresOf, isOver, mayGoOn, type Run, type Step, type When } from './graph.ts'
import { after, finish, makeReady } from './life.ts'
import type { World } from './world.ts'

type Decision = 'READY' | { skipped: string }

/** What a leader saw in one look. */
export interface Look {
  steps: { run: Run; step: Step; decision: Decision }[]
  over: Run[]
}

export function look(world: World, leads: (run: Run) => boolean): Look {
  const led = [...world.runs.values()].filter((run) => run.end === null && leads(run))
  return {
    steps: led.flatMap((run) => run.steps.filter(mayGoOn).map((step) => ({ run, step, decision: decide(step) }))),
    over: led.filter(isOver),
  }
}

/** Until nothing is left. `first`: what was seen a moment ago. Answers whether anything was done. */
export function advance(world: World, leads: (run: Run) => boolean, first: Look = look(world, leads)): boolean {
  if (first.steps.length + first.over.length === 0) return false
  for (let seen = first; act(world, seen); ) seen = look(world, leads)
  return true
}

/** Answers whether something else waits for nothing more because of it. */
function act(world: World, { steps, over }: Look): boolean {
  const before = new Set([...world.runs.values()].flatMap(waiting))
  const ordered = steps.toSorted((a, b) => (a.step.execution.id < b.step.execution.id ? -1 : 1))
  for (const { run, step, decision } of ordered) {
    const { execution } = step
    if (execution.place.in !== 'blocked') continue
    if (run.cancel !== null) finish(world, execution, 'CANCELLED', run.cancel.reason)
    else if (run.paused) execution.place.held = true
    else if (decision !== 'READY') finish(world, execution, 'SKIPPED', decision.skipped)
    else begin(world, step)
  }
  for (const run of over) end(world, run)
  return [...world.runs.values()].flatMap(waiting).some((each) => !before.has(each))
}

/** Those that wait for nothing more, held or not. */
function waiting(run: Run): (Run | Step)[] {
  const steps = run.steps.filter((step) => step.execution.place.in === 'blocked' && countOf(step).open === 0)
  return isOver(run) ? [...steps, run] : steps
}

function decide(step: Step): Decision {
  const { failed, passedOver } = countOf(step)
  const { runIf, when } = step
  if (runIf === 'ANY_FAILED' && failed === 0) return { skipped: 'CONDITION_FALSE' }
  if (runIf === 'ALL_SUCCEEDED' && failed > 0) return { skipped: 'DEPENDENCY_FAILED' }
  if (runIf === 'ALL_SUCCEEDED' && passedOver > 0) return { skipped: 'DEPENDENCY_SKIPPED' }
  if (when === null) return 'READY'
  const holds = answer(when, step)
  if (holds === null) return { skipped: 'CONDITION_FAILED' }
  return holds ? 'READY' : { skipped: 'CONDITION_FALSE' }
}

/** Null: there is no answer. */
function answer(when: When, { dependsOn }: Step): boolean | null {
  const { place, result } = dependsOn.find(({ name }) => name === when.step)!.execution
  if ('succeeded' in when) return (place.in === 'ledger' && place.state === 'SUCCEEDED') === when.succeeded
  const n = result === null ? undefined : JSON.parse(result)?.n
  return n === undefined ? null : n > when.moreThan
}

/** Into its queue; or, if it waits for a signal, into the hands of the outside, under a fence that is not known yet. */
function begin(world: World, step: Step): void {
  const { execution } = step
  const { work } = execution
  const { now } = world
  execution.inputs = inputsOf(step)
  execution.dueAt = now
  execution.expiresAt = after(now, work.startWithinSec)
  execution.deadlineAt = after(now, work.deadlineSec)
  if (!step.waitsForSignal) {
    makeReady(world, execution)
    return
  }
  const lease = {
    ...{ fence: 0, workerId: null, attempt: execution.attempt + 1, leasedAt: now, heartbeatAt: now, began: true },
    ...{ overdueAt: now + work.timeoutSec * 1_000, progress: null, cancel: null, completed: null },
  }
  execution.place = { in: 'running', lease }
}

/** JSON: results by name, and the states of those that did not succeed. */
function inputsOf({ dependsOn }: Step): string {
  const results: Record<string, unknown> = {}
  const states: Record<string, string> = {}
  for (const { name, execution } of dependsOn) {
    const { place, result } = execution
    const state = place.in === 'ledger' ? place.state : 'none'
    results[name] = result === null ? null : JSON.parse(result)
    if (state !== 'SUCCEEDED') states[name] = state
  }
  return JSON.stringify({ results, ...(Object.keys(states).length > 0 && { states }) })
}

function end(world: World, run: Run): void {
  const failed = failuresOf(run).length
  const at = world.now
  if (failed === 0) run.end = { state: 'SUCCEEDED', reason: null, at, failed }
  else if (run.cancel === null) run.end = { state: 'FAILED', reason: 'STEP_FAILED', at, failed }
  else if (run.cancel.reason === 'RUN_DEADLINE') run.end = { state: 'FAILED', reason: 'DEADLINE', at, failed }
  else run.end = { state: 'CANCELLED', reason: 'CANCELLED', at, failed }
  run.paused = false
  const { state, reason } = run.end
  world.ends.add(['run', state, ...(reason === null ? [] : [reason])].join(' '))
}
