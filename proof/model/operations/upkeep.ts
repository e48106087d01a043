/** The sweeper's rounds, backfills, and history that is gone. */
import { beginBackfill, goOn } from '../oracle/backfill.ts'
import { pauseFailing } from '../oracle/jobs.ts'
import { sweep } from '../oracle/upkeep.ts'
import { type Execution, isOpen, livingJobs } from '../oracle/world.ts'
import { type Operation, operation, type Sides } from './operation.ts'

/** So many ended executions are kept: every step looks at all of them. */
const mostEnded = 120

export const upkeep: Operation[] = [
  operation('the sweeper looks', 4, async (sides) => {
    await sweepBoth(sides)
    return true
  }),

  operation('the sweeper watches on', 5, async (sides, random) => {
    const { world } = sides
    for (let rounds = random.between(2, 4); rounds > 0; rounds--) {
      world.now += random.between(2_000, 3_000)
      await sweepBoth(sides)
    }
    return true
  }),

  operation('a backfill begins', 3, async ({ world, rig }, random) => {
    if (world.backfill?.state === 'RUNNING') return null
    const job = random.of(
      livingJobs(world).filter(({ definition, timesChanged }) => definition.every !== null && !timesChanged),
    )
    if (!job) return null
    const to = world.now - random.between(0, 60_000)
    const asked = {
      ...{ from: to - random.between(1, 60_000), to },
      ...{ includeSkipped: random.chance(0.8), concurrency: random.between(1, 4) },
    }
    const wish = { ...asked, jobId: job.id, from: iso(asked.from), to: iso(asked.to) }
    const prepared = await rig.operations.backfill({ tenant: job.tenant, actor: 'person' }, wish)
    const { operationId } = await prepared.begin({})
    beginBackfill(world, { ...asked, id: operationId, job })
    return true
  }),

  operation('a backfill goes on', 6, async (sides) => {
    const { backfill } = sides.world
    if (backfill?.state !== 'RUNNING') return null
    const before = backfill.done
    await operateBoth(sides)
    return backfill.done > before
  }),

  operation('a backfill ends', 6, async (sides) => {
    const { backfill } = sides.world
    if (backfill?.state !== 'RUNNING') return null
    await operateBoth(sides)
    return (backfill.state as string) === 'SUCCEEDED'
  }),

  operation('history goes', 4, async ({ world, rig }, random) => {
    // Not under a backfill: what it has passed it does not look at again.
    const busy = world.backfill?.state === 'RUNNING' ? world.backfill.job : undefined
    const ended = [...world.executions.values()].filter((each) => mayGo(each) && each.job !== busy)
    if (ended.length < mostEnded) return null
    const runs = new Set([...world.runs.values()].filter(({ end }) => end !== null && random.chance(0.7)))
    const gone = ended.flatMap(({ id, run }) => ((run === null ? random.chance(0.7) : runs.has(run)) ? [id] : []))
    for (const id of gone) world.executions.delete(id)
    for (const { id } of runs) {
      world.runs.delete(id)
      gone.push(id)
    }
    const values = [gone]
    await rig.database.query(null, 'delete from carillon.executions where execution_id = any ($1::uuid[])', values)
    await rig.database.query(null, 'delete from carillon.endings where execution_id = any ($1::uuid[])', values)
    await rig.database.query(null, 'delete from carillon.deadlines where execution_id = any ($1::uuid[])', values)
    await rig.database.query(null, 'delete from carillon.dag_steps where execution_id = any ($1::uuid[])', values)
    await rig.database.query(null, 'delete from carillon.dag_runs where execution_id = any ($1::uuid[])', values)
    return true
  }),
]

/** A run goes as a whole. */
function mayGo(execution: Execution): boolean {
  return execution.run === null ? !isOpen(execution) : execution.run.end !== null
}

export async function sweepBoth({ world, rig }: Sides): Promise<void> {
  sweep(world)
  pauseFailing(world)
  await rig.sweep()
  await rig.settle()
}

/** A step that had to wait is tried again a moment later. */
async function operateBoth({ world, rig }: Sides): Promise<void> {
  world.now += 200
  goOn(world, world.backfill!)
  await rig.operator.runOnce()
}

function iso(at: number): string {
  return new Date(at).toISOString()
}
