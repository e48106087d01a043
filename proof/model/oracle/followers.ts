/** Jobs that run after other jobs: every end of an execution is followed once by each job that asks for it. */
import { after, birth, finish } from './life.ts'
import { admit } from './overlap.ts'
import { type Definition, type Execution, type Job, livingJobs, type World } from './world.ts'

/** An execution to come of a follower. */
export interface Following {
  /** Null: not known yet. */
  id: string | null
  follower: Job
  followed: string
  /** What the follower named when that ended. */
  named: string
  pool: string
  lane: number
  runAt: number
}

/** Whether some job follows one of this id or key, of whatever tenant. */
export function isNamed(world: World, { id, definition: { key } }: Job): boolean {
  return livingJobs(world).some(
    ({ definition: { after } }) => after !== null && (after.job === id || after.job === key),
  )
}

/** What has just ended is followed. What was SKIPPED did not run, and a deleted job is over. */
export function follow(world: World, { id, job, place }: Execution): void {
  if (job === null || job.state === 'DELETED' || place.in !== 'ledger' || place.state === 'SKIPPED') return
  for (const follower of livingJobs(world)) {
    const { after, work } = follower.definition
    if (after === null || follower.tenant !== job.tenant) continue
    const isIt = after.job === job.id || after.job === job.definition.key
    const isMeant = after.on === 'ENDED' || (after.on === 'SUCCEEDED') === (place.state === 'SUCCEEDED')
    if (!isIt || !isMeant) continue
    const { pool, lane } = work
    world.following.push({ id: null, follower, followed: id, named: after.job, pool, lane, runAt: world.now })
  }
}

/** Makes executions of what follows, in the order of their ids. Answers those that are done with. */
export function fireFollowing(world: World): string[] {
  const byId = world.following.toSorted((a, b) => (a.id! < b.id! ? -1 : 1))
  const done = byId.filter((each) => fireOne(world, each))
  world.following = world.following.filter((each) => !done.includes(each))
  return done.map(({ id }) => id!)
}

/** The job is as it is now. False: it has moved to another queue, and its place there is not known yet. */
function fireOne(world: World, following: Following): boolean {
  const { follower: job, followed, named, runAt } = following
  if (job.state === 'DELETED') return true
  const { work } = job.definition
  if (work.pool !== following.pool || work.lane !== following.lane) {
    following.pool = work.pool
    following.lane = work.lane
    return false
  }
  const execution = birth(world, {
    ...{ id: following.id!, job, origin: 'TRIGGER', work, scheduledFor: runAt, dueAt: runAt },
    expiresAt: after(world.now, work.startWithinSec),
  })
  if (job.definition.after?.job !== named) finish(world, execution, 'SKIPPED', 'EDITED')
  else if (job.state === 'PAUSED') finish(world, execution, 'SKIPPED', 'PAUSED')
  else admit(world, job, execution)
  const { place } = execution
  const how = place.in === 'ledger' ? `SKIPPED ${place.reason}` : 'PENDING'
  execution.timeline.push(`${how} after ${followed}`)
  return true
}

export type AfterRefusal = 'AFTER_UNKNOWN' | 'AFTER_CYCLE'

/** The job it names must be there, and must not follow it in turn. `self`: null if it is not there yet. */
export function afterRefusal(world: World, tenant: string, wanted: Definition, self: Job | null): AfterRefusal | null {
  const living = livingJobs(world).filter((job) => job.tenant === tenant)
  let named = wanted.after?.job
  for (let isFirst = true; named !== undefined; isFirst = false) {
    const job = living.find(({ id, definition }) => id === named || definition.key === named)
    if (!job) return isFirst ? 'AFTER_UNKNOWN' : null
    if (job === self) return 'AFTER_CYCLE'
    named = job.definition.after?.job
  }
  return null
}
