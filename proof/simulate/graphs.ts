/**
 * Graphs as the seed draws them: small ones, with every condition, steps that fail, and steps that may; steps that wait for a signal, run
 * over the items of a list, or run another graph.
 */
import type { DagStep } from '@carillon/contract'
import { drawPolicy, drawRunPolicy } from './jobs.ts'
import type { Random } from './random.ts'
import { handlerName } from './worker.ts'

const mostSteps = 12
const runConditions = ['ALL_SUCCEEDED', 'ALL_SUCCEEDED', 'ALL_SUCCEEDED', 'ALL_DONE', 'ANY_FAILED'] as const

/** Graphs that steps and jobs run. The second one runs the first. */
export const innerKeys = ['inner 1', 'inner 2'] as const

export function drawSteps(random: Random): DagStep[] {
  const count = random.whole(2, mostSteps)
  // Many that end at the same time, and one that waits for all of them.
  const isFan = random.chance(0.3)
  const steps = Array.from({ length: count }, (_, place): DagStep => {
    const dependsOn = isFan ? drawFan(place, count) : drawEarlier(random, place)
    return { ...drawWait(random, place, dependsOn), ...drawWork(random, dependsOn) }
  })
  // In whatever order they are given.
  return random.chance(0.3) ? steps.toReversed() : steps
}

/** Nobody signals these, and they do not run inside themselves. */
export function drawInnerSteps(random: Random, key: (typeof innerKeys)[number]): DagStep[] {
  const steps = Array.from({ length: random.whole(1, 3) }, (_, place): DagStep => {
    const dependsOn = drawEarlier(random, place)
    const work = random.chance(0.3) ? drawItems(random, dependsOn, { graphs: false }) : drawHandler(random)
    return { ...drawWait(random, place, dependsOn), ...work }
  })
  if (key === innerKeys[0]) return steps
  return [
    ...steps,
    { ...drawWait(random, steps.length, ['s0']), ...drawRunPolicy(random), target: { dag: innerKeys[0] } },
  ]
}

function drawWait(random: Random, place: number, dependsOn: string[]): Pick<DagStep, 'name'> {
  return {
    name: `s${place}`,
    ...(dependsOn.length > 0 && { dependsOn, runIf: random.pick(runConditions) }),
    ...(dependsOn.length > 0 && random.chance(0.2) && { when: drawCondition(random, dependsOn) }),
    ...(random.chance(0.25) && { allowFailure: true }),
  }
}

function drawWork(random: Random, dependsOn: string[]): Omit<DagStep, 'name'> {
  const lot = random.whole(1, 100)
  if (lot <= 10) return { waitFor: 'SIGNAL', timeoutSec: random.whole(3, 15) }
  if (lot <= 27) return drawItems(random, dependsOn, { graphs: true })
  if (lot > 35) return drawHandler(random)
  const payload = random.chance(0.5) ? { payload: { fails: false } } : {}
  return { ...drawRunPolicy(random), target: { dag: random.pick(innerKeys) }, ...payload }
}

function drawHandler(random: Random): Omit<DagStep, 'name'> {
  return { ...drawPolicy(random), target: { handler: handlerName }, payload: { fails: random.chance(0.2) } }
}

/** The list comes from a step before, or from the payload of the run. */
function drawItems(random: Random, dependsOn: string[], { graphs }: { graphs: boolean }): Omit<DagStep, 'name'> {
  const from = dependsOn.length > 0 && random.chance(0.8) ? `results.${random.pick(dependsOn)}` : 'payload'
  const runsGraph = graphs && random.chance(0.15)
  return {
    ...(runsGraph ? drawRunPolicy(random) : drawPolicy(random)),
    target: runsGraph ? { dag: innerKeys[0] } : { handler: handlerName },
    forEach: `${from}.items`,
    ...(random.chance(0.6) && { concurrency: random.whole(1, 3) }),
    ...(random.chance(0.6) && { maxFailures: random.whole(0, 3) }),
  }
}

function drawCondition(random: Random, dependsOn: string[]): string {
  const part = () => {
    const step = random.pick(dependsOn)
    if (random.chance(0.3)) return `states.${step} == "SUCCEEDED"`
    return `results.${step}.n ${random.pick(['>', '<='])} ${random.whole(1, 8)}`
  }
  return random.chance(0.6) ? part() : `${part()} ${random.pick(['&&', '||'])} ${part()}`
}

/** Up to three of the steps before; mostly the ones just before, so that some graphs are deep. */
function drawEarlier(random: Random, place: number): string[] {
  if (place === 0 || random.chance(0.15)) return []
  const places = new Set<number>()
  for (let n = random.whole(1, 3); n > 0; n--) {
    places.add(random.chance(0.5) ? place - 1 : random.whole(0, place - 1))
  }
  return [...places].map((each) => `s${each}`)
}

function drawFan(place: number, count: number): string[] {
  return place < count - 1 ? [] : Array.from({ length: place }, (_, each) => `s${each}`)
}
