/** What becomes of a step when all that it depends on has ended: pure, from counts and results. */
import { limits, type RunCondition } from '@carillon/contract'
import { evaluate } from './condition.ts'

/** How many of those a step depends on failed, and how many were skipped by a condition. */
export interface Ended {
  failed: number
  skipped: number
}

export type StepVerdict = 'READY' | 'DEPENDENCY_FAILED' | 'DEPENDENCY_SKIPPED' | 'CONDITION_FALSE'

/** READY, or why it is SKIPPED. */
export function verdictOf(runIf: RunCondition, { failed, skipped }: Ended): StepVerdict {
  if (runIf === 'ALL_DONE') return 'READY'
  if (runIf === 'ANY_FAILED') return failed > 0 ? 'READY' : 'CONDITION_FALSE'
  if (failed > 0) return 'DEPENDENCY_FAILED'
  return skipped > 0 ? 'DEPENDENCY_SKIPPED' : 'READY'
}

/** What becomes of a step. `error`: its condition could not be answered. */
export type StepDecision =
  | { verdict: 'READY'; inputs: string; reason: null; error: null }
  | { verdict: 'SKIPPED'; inputs: null; reason: string; error: { name: string; message: string } | null }

export interface Dependency {
  name: string
  outcome: Outcome | undefined
}

/** `dependencies`: how each has ended. Asked only for a step whose `runIf` lets it run. */
export function decideStep(when: string | null, dependencies: readonly Dependency[]): StepDecision {
  const inputs = inputsOf(dependencies)
  if (inputs === null) return skipped('INPUTS_TOO_LARGE')
  if (when !== null) {
    const judged = evaluate(when, contextOf(dependencies))
    if ('error' in judged)
      return skipped('CONDITION_FAILED', { name: 'ConditionError', message: `${when}: ${judged.error}` })
    if (!judged.holds) return skipped('CONDITION_FALSE')
  }
  return { verdict: 'READY', inputs, reason: null, error: null }
}

export function skipped(reason: string, error: { name: string; message: string } | null = null): StepDecision {
  return { verdict: 'SKIPPED', inputs: null, reason, error }
}

function contextOf(dependencies: readonly Dependency[]) {
  const results: Record<string, unknown> = {}
  const states: Record<string, string> = {}
  for (const { name, outcome } of dependencies) {
    results[name] = outcome?.result == null ? null : JSON.parse(outcome.result)
    states[name] = outcome?.state ?? 'UNKNOWN'
  }
  return { results, states }
}

export interface Outcome {
  state: string | null
  /** JSON text. */
  result: string | null
}

/**
 * What a step is given of those it depends on, by their names: members of a JSON object. Results are copied as they are stored, to the
 * letter. Null if they are too large together.
 */
export function inputsOf(dependencies: readonly Dependency[]): string | null {
  const results: string[] = []
  const states: string[] = []
  let bytes = 0
  for (const { name, outcome } of dependencies) {
    const { state = null, result = null } = outcome ?? {}
    const text = result ?? 'null'
    bytes += Buffer.byteLength(text)
    results.push(`${JSON.stringify(name)}:${text}`)
    if (state !== 'SUCCEEDED' && state !== null) states.push(`${JSON.stringify(name)}:${JSON.stringify(state)}`)
  }
  if (bytes > limits.stepInputBytes) return null
  const ofStates = states.length === 0 ? '' : `,"states":{${states.join(',')}}`
  return `"results":{${results.join(',')}}${ofStates}`
}
