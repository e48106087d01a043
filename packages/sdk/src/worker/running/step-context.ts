/** What a handler is told of the graph whose step it runs. */
import type { FailedStepState, LeasedStep } from '@carillon/contract'

export type EndedStepState = 'SUCCEEDED' | FailedStepState

/** `Results`: what the steps it needs have returned, by name, as its definition says; unless it says so, anything. */
export interface StepContext<Results = Record<string, unknown>> {
  /** The run: the same for all its steps and all their attempts. */
  readonly runId: string
  readonly step: string
  /** Of an execution that runs for an item of a list, which is its payload: the place of that item, from 0. Otherwise null. */
  readonly itemIndex: number | null
  /** What the run was given, or null. */
  readonly payload: unknown
  /** Of every step this one depends on, by its name: what its handler returned; null if nothing, or if it did not succeed. */
  readonly results: Readonly<Results>
  /** How every step this one depends on has ended. All are SUCCEEDED unless this step has a `runIf`. */
  readonly states: Readonly<Record<string, EndedStepState>>
}

/** What a handler finds in `ctx.dag`: one that needs results always runs as a step. */
export type DagOf<Needs> = [Needs] extends [object] ? StepContext<Needs> : StepContext | null

/** Only those that did not succeed travel with their state. */
export function stepContext({ runId, step, itemIndex, payload, results, states = {} }: LeasedStep): StepContext {
  const names = [...new Set([...Object.keys(results), ...Object.keys(states)])]
  // By entries: a step may be called __proto__, which an assignment would not make a property.
  const given = Object.entries(results)
  const absent = names.filter((name) => !Object.hasOwn(results, name)).map((name) => [name, null] as const)
  return {
    runId,
    step,
    itemIndex: itemIndex ?? null,
    payload: payload ?? null,
    results: Object.fromEntries([...given, ...absent]),
    states: Object.fromEntries(
      names.map((name) => [name, Object.hasOwn(states, name) ? states[name]! : ('SUCCEEDED' as const)]),
    ),
  }
}

/** Of the steps whose results are needed, those that were not depended on, or did not succeed. */
export function missingResults(needed: readonly string[], dag: LeasedStep | null | undefined): string[] {
  if (!dag) return [...needed]
  const { results, states = {} } = dag
  return needed.filter((name) => !Object.hasOwn(results, name) || Object.hasOwn(states, name))
}
