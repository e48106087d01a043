/** Time passes: a little, a lot, or exactly until something is due. */
import { dueOf, openOnes, type World } from '../oracle/world.ts'
import { operation } from './operation.ts'

export const time = [
  operation('time passes', 8, async ({ world }, random) => {
    world.now += random.between(1, 3_000)
    return true
  }),

  operation('time jumps', 2, async ({ world }, random) => {
    world.now += random.between(5, 200) * 1_000 + random.between(0, 999)
    return true
  }),

  operation('time comes to what is next', 6, async ({ world }, random) => {
    const next = random.of(instants(world))
    if (next === undefined) return null
    world.now = next
    return true
  }),
]

/** The next instants at which something changes by itself, the nearest of each kind. */
function instants(world: World): number[] {
  const open = openOnes(world)
  const kinds = [
    [...world.jobs.values()].map(dueOf),
    open.map(({ place }) => (place.in === 'retries' ? place.due : null)),
    open.map(({ place }) => (place.in === 'running' ? place.lease.overdueAt : null)),
    open.map(({ expiresAt }) => expiresAt),
    open.map(({ deadlineAt }) => deadlineAt),
    [...world.enqueued.values()].map(({ runAt }) => runAt),
    [...world.runs.values()].map(({ deadlineAt, end }) => (end === null ? deadlineAt : null)),
  ]
  return kinds.flatMap((kind) => {
    const coming = kind.filter((at): at is number => at !== null && at > world.now)
    return coming.length === 0 ? [] : [Math.min(...coming)]
  })
}
