/** Jobs that run after other jobs: created, changed, and refused where they would follow nothing, or themselves. */
import { newId } from '../../../packages/server/src/domain/identity.ts'
import { agree } from '../compare.ts'
import { someRecurring } from '../definitions.ts'
import { isNamed } from '../oracle/followers.ts'
import { edit, pause, type Refusal } from '../oracle/jobs.ts'
import { type Definition, type Job, livingJobs } from '../oracle/world.ts'
import type { Random } from '../random.ts'
import { tenant } from '../rig.ts'
import { inputOf } from '../wire.ts'
import { createBoth, editing } from './jobs.ts'
import { takeUpBoth } from './leader.ts'
import { codeOr, type Operation, operation, type Sides } from './operation.ts'

const by = { actor: 'person' }
const mostFollowers = 5
const isFollower = ({ definition }: Job) => definition.after !== null

export const followers: Operation[] = [
  operation('a job that follows another is created', 6, async (sides, random) => {
    const jobs = livingJobs(sides.world)
    // Often one that is followed already: several may follow one end.
    const named = jobs.filter((job) => random.chance(0.5) && isNamed(sides.world, job))
    const followed = random.of(named) ?? random.of(jobs)
    if (!followed || jobs.filter(isFollower).length >= mostFollowers) return null
    return createBoth(sides, someFollower(random, sides.world.now, nameOf(followed, random)), followed.tenant)
  }),

  operation('a job that would follow none is refused', 1, async ({ world, rig }, random) => {
    const definition = someFollower(random, world.now, random.chance(0.5) ? newId(world.now) : 'fourth')
    agree('the answer', 'AFTER_UNKNOWN', await codeOr(rig.jobs.put(tenant, inputOf(definition), null, by)))
    return true
  }),

  operation('a job follows another one from now on', 3, async (sides, random) => {
    const { world } = sides
    const job = random.of(livingJobs(world).filter(isFollower))
    const other = random.of(livingJobs(world).filter((each) => each.tenant === job?.tenant && each !== job))
    if (!job || !other) return null
    const definition = { ...job.definition, after: afterOf(random, nameOf(other, random)) }
    if (JSON.stringify(definition) === JSON.stringify(job.definition)) return null
    return (await changeBoth(sides, job, definition)) === null
  }),

  operation('a job that would follow itself is refused', 1, async (sides, random) => {
    const living = livingJobs(sides.world)
    const last = random.of(living.filter(isFollower))
    const first = living.find(({ id, definition, tenant }) => {
      const named = last?.definition.after?.job
      return definition.after !== null && tenant === last?.tenant && (id === named || definition.key === named)
    })
    if (!last || !first) return null
    const definition = { ...first.definition, after: afterOf(random, nameOf(last, random)) }
    return (await changeBoth(sides, first, definition)) === 'AFTER_CYCLE'
  }),

  operation('a job is paused before it follows', 3, async (sides, random) => {
    const { world, rig } = sides
    const job = random.of(world.following.map(({ follower }) => follower).filter(({ state }) => state === 'ACTIVE'))
    if (!job) return null
    agree('the answer', pause(world, job), await codeOr(rig.jobs.pause(job.tenant, job.id, by).then(() => null)))
    return takeUpBoth(sides)
  }),

  operation('a job follows another one before it follows', 2, async (sides, random) => {
    const { world } = sides
    const following = random.of(world.following.filter(({ follower }) => follower.state === 'ACTIVE'))
    const job = following?.follower
    const other = random.of(livingJobs(world).filter((each) => each.tenant === job?.tenant && each !== job))
    if (!job || !other) return null
    const definition = { ...job.definition, after: afterOf(random, nameOf(other, random)) }
    if (definition.after.job === job.definition.after?.job) return null
    const refusal = await changeBoth(sides, job, definition)
    await takeUpBoth(sides)
    return refusal === null
  }),

  editing(
    'a job follows other ends',
    1,
    (definition, random) => ({ ...definition, after: afterOf(random, definition.after!.job) }),
    isFollower,
  ),
]

/** Null: it was changed. */
async function changeBoth({ world, rig }: Sides, job: Job, definition: Definition): Promise<Refusal | null> {
  const ours = edit(world, job, definition)
  const wish = () => ({ input: inputOf(definition), payload: null })
  agree('the answer', ours, await codeOr(rig.jobs.update(job.tenant, job.id, wish, by).then(() => null)))
  return ours
}

function someFollower(random: Random, now: number, followed: string): Definition {
  return {
    ...{ ...someRecurring(random, now), every: null, startAt: null, endAt: null, maxFires: null, jitterSec: 0 },
    after: afterOf(random, followed),
  }
}

function afterOf(random: Random, job: string): NonNullable<Definition['after']> {
  return { job, on: random.pick(['SUCCEEDED', 'FAILED', 'ENDED', 'ENDED']) }
}

function nameOf({ id, definition }: Job, random: Random): string {
  return definition.key !== null && random.chance(0.6) ? definition.key : id
}
