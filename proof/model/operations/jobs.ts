/** Jobs created, changed, paused, resumed, triggered and deleted. */
import { agree, Difference } from '../compare.ts'
import { someRecurring, someTimes, someWork } from '../definitions.ts'
import { afterRefusal, isNamed } from '../oracle/followers.ts'
import { createJob, edit, pause, remove, resume, trigger } from '../oracle/jobs.ts'
import { nextAfter, occurrencesFrom, occursAt } from '../oracle/schedule.ts'
import { type Definition, type Job, livingJobs, type World } from '../oracle/world.ts'
import type { Random } from '../random.ts'
import { otherTenant, tenant } from '../rig.ts'
import { inputOf } from '../wire.ts'
import { codeOr, type Operation, operation, type Sides } from './operation.ts'

const by = { actor: 'person' }
const mostJobs = 9

export const jobs: Operation[] = [
  operation('a recurring job is created', 5, async (sides, random) => {
    const owner = random.chance(0.3) ? otherTenant : tenant
    const key = random.chance(0.6) ? freeKey(sides.world, owner) : null
    const definition = { ...someRecurring(random, sides.world.now), key }
    if (livingJobs(sides.world).length >= mostJobs || nextAfter(definition, sides.world.now) === null) return null
    return createBoth(sides, definition, owner)
  }),

  operation('a job with the key of one of another tenant is created', 3, async (sides, random) => {
    const { world } = sides
    const keyOf = (job: Job) => job.definition.key
    const namesakes = livingJobs(world).filter((job) => {
      return keyOf(job) !== null && livingJobs(world).filter((each) => keyOf(each) === keyOf(job)).length === 1
    })
    const job = random.of(namesakes.filter((each) => isNamed(world, each))) ?? random.of(namesakes)
    const definition = { ...someRecurring(random, world.now), key: job ? keyOf(job) : null }
    if (!job || nextAfter(definition, world.now) === null) return null
    return createBoth(sides, definition, job.tenant === tenant ? otherTenant : tenant)
  }),

  operation('what is created again under its key is unchanged', 1, async (sides, random) => {
    const job = random.of(livingJobs(sides.world).filter(({ definition }) => definition.key !== null))
    return job === undefined ? null : (await putAgain(sides, job, job.definition)) === 'UNCHANGED'
  }),

  operation('what is created otherwise under its key is changed', 1, async (sides, random) => {
    const job = random.of(livingJobs(sides.world).filter(({ definition }) => definition.key !== null))
    if (!job) return null
    const work = someWork(random)
    return (await putAgain(sides, job, { ...job.definition, work })) === 'UPDATED'
  }),

  operation('a job that could never fire is refused', 1, async ({ world, rig }, random) => {
    const definition = { ...someRecurring(random, world.now), startAt: null, endAt: world.now - 1 }
    agree('the answer', 'SCHEDULE_NEVER_FIRES', await codeOr(rig.jobs.put(tenant, inputOf(definition), null, by)))
    return true
  }),

  operation('a one-shot is created', 2, async (sides, random) => {
    const { now } = sides.world
    if (livingJobs(sides.world).length >= mostJobs) return null
    const recurring = someRecurring(random, now)
    return createBoth(sides, {
      ...{ ...recurring, every: null, runAt: now + random.between(1, 30_000), startAt: null, endAt: null },
      ...{ maxFires: null, jitterSec: 0, pauseAfterFailures: null },
    })
  }),

  changing('a job is paused', 3, { from: 'ACTIVE', by: 'pause' }),
  changing('a paused job is paused again', 1, { from: 'PAUSED', by: 'pause' }),
  changing('a job is resumed', 4, { from: 'PAUSED', by: 'resume' }),
  changing('a job that runs is resumed', 1, { from: 'ACTIVE', by: 'resume' }),
  changing('a completed job cannot be paused', 1, { from: 'COMPLETED', by: 'pause', isRefused: true }),
  changing('a completed job cannot be resumed', 1, { from: 'COMPLETED', by: 'resume', isRefused: true }),

  operation('a job is deleted', 2, async (sides, random) => removeBoth(sides, random, false)),
  operation('a job is deleted with what runs', 1, async (sides, random) => removeBoth(sides, random, true)),

  operation('what was deleted is gone', 1, async ({ world, rig }, random) => {
    const gone = random.of([...world.jobs.values()].filter(({ state }) => state === 'DELETED' || state === 'GONE'))
    if (!gone) return null
    const asked = { payload: null, traceparent: null, actor: 'person' }
    agree('a trigger', 'JOB_NOT_FOUND', await codeOr(rig.jobs.trigger(gone.tenant, gone.id, asked)))
    agree('a resume', 'JOB_NOT_FOUND', await codeOr(rig.jobs.resume(gone.tenant, gone.id, by)))
    return true
  }),

  triggering('a job is triggered', 5, 'READY'),
  triggering('a job that is followed is triggered', 4, 'READY', (job, world) => isNamed(world, job)),
  triggering('a trigger has to wait', 3, 'WAIT'),
  triggering('a trigger that would overlap is skipped', 3, 'SKIP'),

  editing(
    'a job gets other times',
    3,
    (definition, random, now) => ({ ...definition, every: someTimes(random, now) }),
    canMove,
  ),
  editing(
    'a job gets an end',
    1,
    (definition, random, now) => ({
      ...{ ...definition, endAt: now + random.between(-30_000, 200_000) },
    }),
    canMove,
  ),
  editing('a job gets another overlap policy', 3, (definition, random) => ({
    ...{ ...definition, overlap: random.pick(['ALLOW', 'FORBID', 'QUEUE_ONE', 'REPLACE']) },
  })),
  editing('a job gets other work', 2, (definition, random) => ({ ...definition, work: someWork(random) })),
  editing('a job gets another misfire policy', 1, (definition, random) => ({
    ...{ ...definition, misfire: random.pick(['FIRE_ONCE', 'FIRE_ALL', 'SKIP']), maxCatchUp: random.between(1, 4) },
  })),
  editing(
    'a job may fire more or less often',
    2,
    (definition, random) => ({
      ...{ ...definition, maxFires: random.chance(0.3) ? null : random.between(1, 20) },
    }),
    recurs,
  ),
  editing(
    'a one-shot gets another time',
    2,
    (definition, random, now) => ({ ...definition, runAt: now + random.between(1, 30_000) }),
    ({ nominal, definition }, world) => definition.every === null && nominal !== null && nominal > world.now,
  ),

  operation('the same definition changes nothing', 1, async ({ world, rig }, random) => {
    const job = random.of(livingJobs(world))
    if (!job) return null
    const wish = () => ({ input: inputOf(job.definition), payload: null })
    const asked = rig.jobs.update(job.tenant, job.id, wish, by).then(({ what }) => what)
    agree('what became of it', unchanged(world, job), await codeOr(asked))
    return true
  }),

  operation('a change of an old version is refused', 1, async ({ world, rig }, random) => {
    const job = random.of(livingJobs(world).filter(({ version }) => version > 1))
    if (!job) return null
    const asked = { ...by, version: job.version - 1 }
    const definition = { ...job.definition, misfireAfterSec: job.definition.misfireAfterSec + 1 }
    const wish = () => ({ input: inputOf(definition), payload: null })
    const ours = edit(world, job, definition, asked.version)
    agree('the answer', ours, await codeOr(rig.jobs.update(job.tenant, job.id, wish, asked)))
    return ours === 'VERSION_MISMATCH'
  }),
]

export async function createBoth({ world, rig }: Sides, definition: Definition, owner = tenant): Promise<boolean> {
  const { job, what } = await rig.jobs.put(owner, inputOf(definition), null, by)
  agree('what became of it', 'CREATED', what)
  const jitterMs = job.due! - job.nominal!
  if (jitterMs < 0 || jitterMs >= Math.max(1, definition.jitterSec * 1_000)) {
    throw new Difference(`a jitter of ${jitterMs} ms with jitterSec ${definition.jitterSec}`)
  }
  createJob(world, { id: job.definition.jobId, tenant: owner, definition, jitterMs })
  return true
}

async function putAgain({ world, rig }: Sides, job: Job, definition: Definition): Promise<string> {
  const isSame = JSON.stringify(definition) === JSON.stringify(job.definition)
  const ours = isSame ? unchanged(world, job) : (edit(world, job, definition) ?? 'UPDATED')
  const asked = rig.jobs.put(job.tenant, inputOf(definition), null, by)
  agree('what became of it', ours, await codeOr(asked.then(({ what }) => what)))
  return ours
}

/** Nothing is changed; but what it follows has to be there all the same. */
function unchanged(world: World, job: Job): string {
  return afterRefusal(world, job.tenant, job.definition, job) ?? 'UNCHANGED'
}

function freeKey(world: World, owner: string): string | null {
  const taken = new Set(livingJobs(world).map((job) => (job.tenant === owner ? job.definition.key : null)))
  return ['first', 'second', 'third'].find((key) => !taken.has(key)) ?? null
}

const verbs = { pause, resume }

function changing(
  name: string,
  weight: number,
  how: { from: Job['state']; by: keyof typeof verbs; isRefused?: boolean },
): Operation {
  return operation(name, weight, async ({ world, rig }, random) => {
    const job = random.of(livingJobs(world).filter(({ state }) => state === how.from))
    if (!job) return null
    const refusal = verbs[how.by](world, job)
    agree('the answer', refusal, await codeOr(rig.jobs[how.by](job.tenant, job.id, by).then(() => null)))
    return (refusal !== null) === (how.isRefused ?? false)
  })
}

async function removeBoth({ world, rig }: Sides, random: Random, cancelRunning: boolean): Promise<boolean | null> {
  const job = random.of(livingJobs(world))
  if (!job) return null
  remove(world, job, cancelRunning)
  await rig.jobs.remove(job.tenant, job.id, { ...by, cancelRunning })
  return true
}

function triggering(
  name: string,
  weight: number,
  verdict: string,
  suits: (job: Job, world: World) => boolean = () => true,
): Operation {
  return operation(name, weight, async ({ world, rig }, random) => {
    const job = random.of(
      livingJobs(world).filter(
        (each) => (verdict === 'READY' || each.definition.overlap !== 'ALLOW') && suits(each, world),
      ),
    )
    if (!job) return null
    const theirs = await rig.jobs.trigger(job.tenant, job.id, { payload: null, traceparent: null, actor: 'person' })
    const ours = trigger(world, job, theirs.execution.executionId)
    agree('the answer to a trigger', ours, theirs.verdict)
    return ours === verdict
  })
}

export function editing(
  name: string,
  weight: number,
  change: (definition: Definition, random: Random, now: number) => Definition,
  suits: (job: Job, world: World) => boolean = () => true,
): Operation {
  return operation(name, weight, async ({ world, rig }, random) => {
    const job = random.of(livingJobs(world).filter((each) => suits(each, world)))
    if (!job) return null
    const definition = change(job.definition, random, world.now)
    if (JSON.stringify(definition) === JSON.stringify(job.definition) || !isClear(job, definition, world)) return null
    const wish = () => ({ input: inputOf(definition), payload: null })
    const ours = edit(world, job, definition)
    agree('the answer to a change', ours, await codeOr(rig.jobs.update(job.tenant, job.id, wish, by).then(() => null)))
    return ours === null
  })
}

function recurs({ definition }: Job): boolean {
  return definition.every !== null
}

/** Its times may change, in the midst of a backfill too, but not those that the backfill walks along. */
function canMove(job: Job, world: World): boolean {
  return recurs(job) && world.backfill?.job !== job
}

/**
 * Whether it is said what becomes of everything that has come and not fired: of several some must not go while the first
 * one stays.
 */
function isClear({ definition, nominal, state }: Job, wanted: Definition, { now }: World): boolean {
  if (state === 'PAUSED' || nominal === null || !occursAt(wanted, nominal)) return true
  return occurrencesFrom(definition, nominal, now).every((at) => occursAt(wanted, at))
}
