/** Graphs as the seed draws them: small ones, with every condition, steps that fail, and steps that may. */
import type { DagStep } from '@carillon/contract'
import { drawPolicy } from './jobs.ts'
import type { Random } from './random.ts'
import { handlerName } from './worker.ts'

const mostSteps = 12
const conditions = ['ALL_SUCCEEDED', 'ALL_SUCCEEDED', 'ALL_SUCCEEDED', 'ALL_DONE', 'ANY_FAILED'] as const

export function drawSteps(random: Random): DagStep[] {
  const count = random.whole(2, mostSteps)
  // Many that end at the same time, and one that waits for all of them.
  const isFan = random.chance(0.3)
  const steps = Array.from({ length: count }, (_, place): DagStep => {
    const dependsOn = isFan ? drawFan(place, count) : drawEarlier(random, place)
    return {
      ...drawPolicy(random),
      name: `s${place}`,
      target: { handler: handlerName },
      ...(dependsOn.length > 0 && { dependsOn, runIf: random.pick(conditions) }),
      allowFailure: random.chance(0.25),
      payload: { fails: random.chance(0.2) },
    }
  })
  // In whatever order they are given.
  return random.chance(0.3) ? steps.toReversed() : steps
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
