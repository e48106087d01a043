/** Graphs of steps, by names and dependencies alone: what is wrong with one, and the order of its steps. */
import { type ErrorDetail, limits, nearestOf } from '@carillon/contract'
import { findCycles } from './cycles.ts'

export interface GraphStep {
  readonly name: string
  readonly dependsOn?: readonly string[]
}

export interface OrderedStep<S> {
  step: S
  /** Places in the order. */
  dependsOn: number[]
  /** The steps that depend on it, by place, ascending. */
  children: number[]
}

const mostProblems = 50
const mostCycles = 5
/** Letters compared with letters, in search of names that were meant. [m] 13 ms among 1,000 names of 38 letters that are alike. */
const mostCompared = 1_000_000
/** Of a cycle, in a message. */
const mostNamed = 20

/** Pointers are those of a body with `steps`. Empty: it is a graph without cycles, within the limits. */
export function graphProblems(steps: readonly GraphStep[]): ErrorDetail[] {
  const outside = sizeProblems(steps)
  if (outside.length > 0) return outside
  const problems: ErrorDetail[] = []
  const places = placesOf(steps, problems)
  const edges = edgesOf(steps, places, problems)
  for (const cycle of findCycles(edges, mostCycles)) problems.push(cycleProblem(steps, cycle))
  return problems.slice(0, mostProblems)
}

/**
 * Each step after those it depends on; among those that could come next, the one that was given first. The graph must have no
 * problems.
 */
export function inOrder<S extends GraphStep>(steps: readonly S[]): OrderedStep<S>[] {
  const indexes = new Map(steps.map(({ name }, i) => [name, i]))
  const dependencies = steps.map(({ dependsOn = [] }) => dependsOn.map((name) => indexes.get(name)!))
  const dependants: number[][] = steps.map(() => [])
  for (const [i, dependsOn] of dependencies.entries()) for (const other of dependsOn) dependants[other]!.push(i)
  const missing = dependencies.map(({ length }) => length)
  const order: number[] = []
  const places: number[] = []
  while (order.length < steps.length) {
    const next = missing.indexOf(0)
    if (next === -1) throw new Error('the graph has a cycle')
    missing[next] = -1
    places[next] = order.length
    order.push(next)
    for (const dependant of dependants[next]!) missing[dependant]!--
  }
  return order.map((i) => ({
    step: steps[i]!,
    dependsOn: dependencies[i]!.map((other) => places[other]!),
    children: dependants[i]!.map((other) => places[other]!).sort((a, b) => a - b),
  }))
}

function sizeProblems(steps: readonly GraphStep[]): ErrorDetail[] {
  const hint = 'Make several graphs of it, or let one step do what several do'
  if (steps.length > limits.steps)
    return [
      { pointer: '/steps', message: `steps has ${steps.length} entries, more than the ${limits.steps} allowed`, hint },
    ]
  const count = steps.reduce((sum, { dependsOn = [] }) => sum + dependsOn.length, 0)
  if (count <= limits.dependencies) return []
  const message = `steps has ${count} dependencies, more than the ${limits.dependencies} allowed`
  return [{ pointer: '/steps', message, hint }]
}

function placesOf(steps: readonly GraphStep[], problems: ErrorDetail[]): Map<string, number> {
  const places = new Map<string, number>()
  for (const [i, { name }] of steps.entries()) {
    const first = places.get(name)
    if (first === undefined) places.set(name, i)
    else {
      const hint = 'Give each step of a graph a name of its own'
      problems.push({ pointer: `/steps/${i}/name`, message: `name ${name} is that of step ${first} too`, hint })
    }
  }
  return places
}

/** From each step to those it depends on, as far as they are there; itself is not among them. */
function edgesOf(
  steps: readonly GraphStep[],
  places: ReadonlyMap<string, number>,
  problems: ErrorDetail[],
): number[][] {
  const names = [...places.keys()]
  const letters = names.reduce((sum, { length }) => sum + length, 0)
  let compared = 0
  return steps.map(({ name, dependsOn = [] }, i) => {
    const edges = new Set<number>()
    for (const [k, other] of dependsOn.entries()) {
      const pointer = `/steps/${i}/dependsOn/${k}`
      const place = places.get(other)
      if (other === name) {
        problems.push({ pointer, message: `step ${name} depends on itself`, hint: 'Remove it from its dependsOn' })
      } else if (place === undefined) {
        const near = compared < mostCompared ? nearestOf(other, names) : null
        compared += other.length * letters
        const hint = near === null ? 'Name a step of this graph' : `Did you mean ${near}?`
        problems.push({ pointer, message: `dependsOn names ${other}, which is no step of this graph`, hint })
      } else if (edges.has(place)) {
        problems.push({ pointer, message: `dependsOn names ${other} twice`, hint: 'Name it once' })
      } else edges.add(place)
    }
    return [...edges]
  })
}

function cycleProblem(steps: readonly GraphStep[], cycle: readonly number[]): ErrorDetail {
  const names = cycle.map((i) => steps[i]!.name)
  const named = names.slice(0, mostNamed)
  if (names.length > mostNamed) named.push(`… (${names.length - mostNamed} more)`)
  const at = steps[cycle[0]!]!.dependsOn!.indexOf(names[1]!)
  return {
    pointer: `/steps/${cycle[0]}/dependsOn/${at}`,
    message: `the steps depend on each other in a cycle: ${[...named, names[0]].join(' -> ')}`,
    hint: 'Each depends on the one after the arrow: remove one of these dependencies',
  }
}
