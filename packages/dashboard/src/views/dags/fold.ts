/**
 * What is drawn as one: of a layer with many steps, those that depend on the same steps and have the same dependants. A fan-out over a
 * thousand files is one node, which says how many of them are in which state. What folds depends on the graph alone and on what the
 * reader unfolded, so that nothing moves while a run goes on.
 */
import { type Linked, layersOf } from './layers.ts'
import { dependantsOf } from './steps.ts'

export interface FoldedNode extends Linked {
  /** Names of its steps: one, or those that are folded into it. */
  members: readonly string[]
}

/** A layer with at most this many is drawn step by step. */
const mostInLayer = 12
const leastFolded = 4

export function fold(
  steps: readonly { name: string; dependsOn: readonly string[] }[],
  unfolded: ReadonlySet<string>,
): FoldedNode[] {
  const dependants = dependantsOf(steps)
  const layers = layersOf(steps.map(({ name, dependsOn }) => ({ id: name, dependsOn })))
  const byLayer = Map.groupBy(steps, ({ name }) => layers.get(name)!)
  const groups: string[][] = []
  for (const inLayer of byLayer.values()) {
    const alike =
      inLayer.length <= mostInLayer
        ? inLayer.map(({ name }) => [name])
        : [...Map.groupBy(inLayer, ({ name, dependsOn }) => likeness(dependsOn, dependants.get(name)!)).values()].map(
            (group) => group.map(({ name }) => name),
          )
    groups.push(...widthKept(alike.flatMap((names) => (names.length < leastFolded ? names.map((n) => [n]) : [names]))))
  }
  const shown = groups.flatMap((names) => (unfolded.has(foldId(names)) ? names.map((name) => [name]) : [names]))
  const idOf = new Map(shown.flatMap((names) => names.map((name) => [name, foldId(names)])))
  const dependsOn = new Map(steps.map((step) => [step.name, step.dependsOn]))
  return shown.map((members) => ({
    id: foldId(members),
    members,
    dependsOn: [...new Set(members.flatMap((name) => dependsOn.get(name)!.flatMap((each) => idOf.get(each) ?? [])))],
  }))
}

/** A layer that is wide all the same: all that stands alone in it becomes one. */
function widthKept(groups: string[][]): string[][] {
  if (groups.length <= 2 * mostInLayer) return groups
  const single = groups.filter(({ length }) => length === 1).flat()
  return single.length === 0 ? groups : [...groups.filter(({ length }) => length > 1), single]
}

/** A step's own name; of several, one that no step can have. */
function foldId(names: readonly string[]): string {
  return names.length === 1 ? names[0]! : `${names[0]} +${names.length - 1}`
}

function likeness(dependsOn: readonly string[], dependants: readonly string[]): string {
  return `${dependsOn.toSorted().join(' ')}|${dependants.toSorted().join(' ')}`
}
