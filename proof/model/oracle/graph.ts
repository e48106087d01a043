/** Graphs and their runs: plain data, and what follows from how the steps have ended. Nothing is counted; all is looked up. */
import type { Execution } from './world.ts'

export type RunIf = 'ALL_SUCCEEDED' | 'ALL_DONE' | 'ANY_FAILED'

/** A condition of which the answer is plain: on the result, or on the state, of a step it depends on. */
export type When = { step: string; moreThan: number } | { step: string; succeeded: boolean }

export interface Step {
  name: string
  execution: Execution
  dependsOn: Step[]
  runIf: RunIf
  when: When | null
  allowFailure: boolean
  waitsForSignal: boolean
}

export interface Run {
  id: string
  name: string
  /** Each after those it depends on. */
  steps: Step[]
  createdAt: number
  deadlineAt: number | null
  paused: boolean
  cancel: { reason: 'RUN_CANCELLED' | 'RUN_DEADLINE' } | null
  end: { state: 'SUCCEEDED' | 'FAILED' | 'CANCELLED'; reason: string | null; at: number; failed: number } | null
}

/** What an end means to those behind it. PASSED_OVER: a condition was against it. */
export function meaningOf({ place }: Execution): 'OPEN' | 'SUCCEEDED' | 'FAILED' | 'PASSED_OVER' {
  if (place.in !== 'ledger') return 'OPEN'
  if (place.state === 'SUCCEEDED') return 'SUCCEEDED'
  const isPassedOver = place.reason === 'CONDITION_FALSE' || place.reason === 'DEPENDENCY_SKIPPED'
  return place.state === 'SKIPPED' && isPassedOver ? 'PASSED_OVER' : 'FAILED'
}

export interface Count {
  open: number
  failed: number
  passedOver: number
}

/** Of those that a step depends on. */
export function countOf({ dependsOn }: Step): Count {
  const meanings = dependsOn.map(({ execution }) => meaningOf(execution))
  const count = (wanted: string) => meanings.filter((each) => each === wanted).length
  return { open: count('OPEN'), failed: count('FAILED'), passedOver: count('PASSED_OVER') }
}

export function openSteps({ steps }: Run): Step[] {
  return steps.filter(({ execution }) => meaningOf(execution) === 'OPEN')
}

/** Failures that keep a run from having succeeded. What is skipped after another's failure has none of its own. */
export function failuresOf({ steps }: Run): Step[] {
  return steps.filter(({ execution, allowFailure }) => {
    const { place } = execution
    if (meaningOf(execution) !== 'FAILED' || place.in !== 'ledger') return false
    const { reason } = place
    if (reason === 'DEPENDENCY_FAILED') return false
    return !allowFailure || reason === 'RUN_CANCELLED' || reason === 'RUN_DEADLINE'
  })
}

export function stepOf(execution: Execution): Step | null {
  return execution.run?.steps.find((step) => step.execution === execution) ?? null
}

/** Whether there is something for a leader to do: it waits for nothing more. */
export function mayGoOn(step: Step): boolean {
  const { place } = step.execution
  return place.in === 'blocked' && !place.held && countOf(step).open === 0
}

export function isOver(run: Run): boolean {
  return run.end === null && openSteps(run).length === 0
}
