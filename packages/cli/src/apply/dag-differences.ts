/** What a change of a graph would change: its fields, and those of each step, by the step's name. */
import { isDeepStrictEqual } from 'node:util'
import { type Dag, type DagStep, defaults } from '@carillon/contract'
import { changedFields, type Difference } from './differences.ts'
import type { DeclaredDag } from './manifest.ts'

type Fields = Record<string, unknown>

export function dagDifferences(wanted: DeclaredDag, dag: Dag): Difference[] {
  const from = { name: dag.name, managedBy: dag.managedBy, labels: dag.labels, deadlineSec: dag.deadlineSec }
  const to = {
    name: wanted.name ?? wanted.key,
    managedBy: wanted.managedBy,
    labels: wanted.labels ?? {},
    deadlineSec: wanted.deadlineSec ?? null,
  }
  return [...changedFields(from, to), ...stepDifferences(dag.steps, wanted.steps)]
}

function stepDifferences(from: readonly DagStep[], to: readonly DagStep[]): Difference[] {
  const before = new Map(from.map((step) => [step.name, step]))
  const after = new Map(to.map((step) => [step.name, step]))
  const found = [...new Set([...before.keys(), ...after.keys()])].flatMap((name): Difference[] => {
    const [old, wanted] = [before.get(name), after.get(name)]
    if (!old) return [{ field: `steps.${name}`, from: null, to: wanted!.target }]
    if (!wanted) return [{ field: `steps.${name}`, from: old.target, to: null }]
    return changedFields(normal(old), normal(wanted)).map((difference) => ({
      ...difference,
      field: `steps.${name}.${difference.field}`,
    }))
  })
  // Of steps that could start together, the one that stands first does.
  const [oldOrder, newOrder] = [[...before.keys()], [...after.keys()]]
  if (found.length > 0 || isDeepStrictEqual(oldOrder, newOrder)) return found
  return [{ field: 'order of the steps', from: oldOrder, to: newOrder }]
}

/** With its defaults: two writings of one step are no difference. */
function normal(step: DagStep): Fields {
  const { dependsOn = [], retryPolicy, target, labels = {}, payload = null, ...given } = step
  return {
    runIf: 'ALL_SUCCEEDED',
    allowFailure: false,
    priority: defaults.priority,
    timeoutSec: defaults.timeoutSec,
    deadlineSec: null,
    heartbeatTimeoutSec: null,
    startWithinSec: null,
    cancelGraceSec: defaults.cancelGraceSec,
    unknownHandlerSec: defaults.unknownHandlerSec,
    delivery: defaults.delivery,
    limits: [],
    ...given,
    dependsOn: dependsOn.toSorted(),
    retryPolicy: { ...defaults.retryPolicy, ...retryPolicy },
    target: target?.handler === undefined ? target : { pool: defaults.pool, ...target },
    labels,
    payload,
  }
}
