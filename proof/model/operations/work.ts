/** What workers do before an attempt ends: lease, begin, give signs of life, hand over; and pools that are paused. */
import { leasedExecutions, lease as leaseInStore } from '../../../packages/server/src/store/executions/lease.ts'
import { beginHandlers, storeProgress } from '../../../packages/server/src/store/executions/worker-news.ts'
import { pausePool } from '../../../packages/server/src/store/pools/pools.ts'
import { seeWorkers } from '../../../packages/server/src/store/workers/register.ts'
import { agree, Difference } from '../compare.ts'
import { begin, heartbeat, lease, type Slot } from '../oracle/life.ts'
import { leased } from '../oracle/upkeep.ts'
import { openOnes } from '../oracle/world.ts'
import type { Random } from '../random.ts'
import { pools, type Rig } from '../rig.ts'
import { operation, type Sides, someRunning } from './operation.ts'

export const work = [
  operation('workers lease', 18, async (sides, random) => {
    const pool = random.pick(pools)
    if (sides.world.pausedPools.has(pool) || !hasReady(sides, pool)) return null
    return (await leaseBoth(sides, pool, slots(sides.rig, random))) > 0
  }),

  operation('a paused pool gives nothing', 1, async (sides, random) => {
    const pool = random.of([...sides.world.pausedPools])
    if (pool === undefined || !hasReady(sides, pool)) return null
    agree('leased', 0, await leaseBoth(sides, pool, slots(sides.rig, random)))
    return true
  }),

  operation('a pool is paused', 1, async ({ world, rig }, random) => {
    const name = random.pick(pools)
    world.pausedPools.add(name)
    await pausePool(rig.database, { key: name, paused: true, actor: 'model' })
    return true
  }),

  operation('a pool is resumed', 3, async ({ world, rig }, random) => {
    const name = random.of([...world.pausedPools])
    if (name === undefined) return null
    world.pausedPools.delete(name)
    await pausePool(rig.database, { key: name, paused: false, actor: 'model' })
    return true
  }),

  operation('a handler begins', 5, async (sides, random) => {
    const held = someRunning(sides, random, (_, lease) => !lease.began && lease.cancel === null)
    return held === undefined ? null : await beginBoth(sides, held.execution.id, held.lease.fence)
  }),

  operation('a cancelled one does not begin', 1, async (sides, random) => {
    const held = someRunning(sides, random, (_, lease) => lease.cancel !== null)
    return held === undefined ? null : !(await beginBoth(sides, held.execution.id, held.lease.fence))
  }),

  operation('one whose lease is lost does not begin', 1, async (sides, random) => {
    const held = someRunning(sides, random, (_, lease) => lease.fence > 1)
    return held === undefined ? null : !(await beginBoth(sides, held.execution.id, held.lease.fence - 1))
  }),

  operation('a handler gives a sign of life', 5, async (sides, random) => {
    const held = someRunning(sides, random)
    if (!held) return null
    const progress = random.chance(0.7) ? JSON.stringify({ step: random.between(1, 99) }) : null
    // An old fence changes nothing.
    const fence = held.lease.fence - (random.chance(0.1) ? 1 : 0)
    const { execution } = held
    heartbeat(sides.world, execution, fence, progress)
    await storeProgress(sides.rig.database, [{ executionId: execution.id, fence, progress }])
    return true
  }),

  operation('a worker is heard of', 8, async ({ world, rig }, random) => {
    const known = [...world.workers.keys()].filter(() => random.chance(0.7))
    if (known.length === 0) return null
    for (const workerId of known) world.workers.set(workerId, world.now)
    await seeWorkers(rig.database, known)
    return true
  }),

  operation('a worker comes back', 2, async ({ world, rig }, random) => {
    const gone = random.of(rig.workers.filter((workerId) => !world.workers.has(workerId)))
    if (gone === undefined) return null
    world.workers.set(gone, world.now)
    await rig.register(gone)
    return true
  }),
]

function hasReady({ world }: Sides, pool: string): boolean {
  return openOnes(world).some(({ place, work }) => place.in === 'ready' && work.pool === pool)
}

function slots({ workers }: Rig, random: Random): Slot[] {
  return Array.from({ length: random.between(1, 8) }, () => {
    return { workerId: random.of(workers)!, prefetched: random.chance(0.25) }
  })
}

/** Answers how many were leased. */
async function leaseBoth({ world, rig }: Sides, pool: string, free: Slot[]): Promise<number> {
  const ours = lease(world, pool, free)
  const reading = { from: [0, 0, 0, 0], since: [0, 0, 0, 0], turn: 20 }
  const rows = await leaseInStore(rig.database, pool, reading, free)
  const theirs = rows.flatMap(({ workerId, executions }) =>
    leasedExecutions(executions).map((execution) => ({ ...execution, workerId })),
  )
  agree(
    'who has leased what',
    ours.map(({ execution, lease }) => [execution.id, lease.workerId, lease.attempt, execution.progress]),
    ours.map(({ execution }) => {
      const given = theirs.find(({ executionId }) => executionId === execution.id)
      return (
        given && [
          given.executionId,
          given.workerId,
          given.attempt,
          given.lastProgress && JSON.stringify(given.lastProgress),
        ]
      )
    }),
  )
  agree('how many were leased', ours.length, theirs.length)
  const before = world.fence
  const seen = new Set<number>()
  for (const { execution, lease } of ours) {
    const { fence } = theirs.find(({ executionId }) => executionId === execution.id)!
    if (fence <= before || seen.has(fence)) throw new Difference(`fence ${fence} comes after ${before}, or twice`)
    seen.add(fence)
    lease.fence = fence
    world.fence = Math.max(world.fence, fence)
  }
  return ours.length
}

async function beginBoth({ world, rig }: Sides, executionId: string, fence: number): Promise<boolean> {
  const ours = begin(world, world.executions.get(executionId)!, fence)
  const begun = await beginHandlers(rig.database, [{ executionId, fence }])
  agree('may begin', ours, begun.has(executionId))
  return ours
}

/** Every worker that holds something. */
export function holders({ world }: Sides): string[] {
  return [...new Set(leased(world).flatMap(({ lease }) => (lease.workerId === null ? [] : [lease.workerId])))]
}
