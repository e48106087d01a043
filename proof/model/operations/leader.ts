/** What a shard's leader does, and what one may not do that is mistaken. */
import { planSchedule } from '../../../packages/server/src/scheduling/plan.ts'
import {
  type DueReturn,
  fireReturns,
  type ReturnSource,
  readDueReturns,
} from '../../../packages/server/src/store/executions/returning.ts'
import { type Fired, fire as fireInStore } from '../../../packages/server/src/store/schedules/fire.ts'
import { type DueSchedule, readDueSchedules } from '../../../packages/server/src/store/schedules/read-due.ts'
import type { LedShard } from '../../../packages/server/src/store/shards/claim.ts'
import { agree } from '../compare.ts'
import { readFollowing } from '../observe.ts'
import { fireFollowing } from '../oracle/followers.ts'
import { dueJobs, fire } from '../oracle/jobs.ts'
import { makeReady } from '../oracle/life.ts'
import { takeUp } from '../oracle/people.ts'
import { nextAfter } from '../oracle/schedule.ts'
import { openOnes, type World } from '../oracle/world.ts'
import type { Rig } from '../rig.ts'
import { operation, type Sides } from './operation.ts'

export const leader = [
  operation('a leader fires what is due', 14, async ({ world, rig }) => {
    const jobs = dueJobs(world)
    const rows = await readDue(rig, world.now)
    agree(
      'what is due',
      jobs.map(({ id }) => id),
      rows.map(({ jobId }) => jobId),
    )
    if (jobs.length === 0) return null
    for (const job of jobs) fire(world, job)
    const fired = await fireRows(rig, rows, world.now)
    agree('what has moved', jobs.map(({ id }) => id).sort(), fired.moved.toSorted())
    agree('what had a row already', [0, [], []], [fired.duplicates, fired.collisions, fired.tooOld])
    return true
  }),

  operation('a leader fires some of what is due', 4, async ({ world, rig }, random) => {
    const some = dueJobs(world).filter(() => random.chance(0.5))
    if (some.length === 0) return null
    const rows = (await readDue(rig, world.now)).filter((row) => some.some(({ id }) => id === row.jobId))
    for (const job of some) fire(world, job)
    const fired = await fireRows(rig, rows, world.now)
    agree('what has moved', some.map(({ id }) => id).sort(), fired.moved.toSorted())
    return true
  }),

  operation('a leader that was replaced fires nothing', 1, async (sides) => {
    const { rig } = sides
    if (rig.formerlyLed === rig.led) return null
    return mistaken(sides, (rows, now) => fireRows(rig, rows, now, rig.formerlyLed))
  }),

  operation('a version that was replaced fires nothing', 1, async (sides) => {
    return mistaken(sides, (rows, now) =>
      fireRows(
        sides.rig,
        rows.map((row) => ({ ...row, version: row.version - 1 })),
        now,
      ),
    )
  }),

  operation('a job that has moved on fires nothing', 1, async (sides) => {
    return mistaken(sides, (rows, now) =>
      fireRows(
        sides.rig,
        rows.map((row) => ({ ...row, due: row.due - 1 })),
        now,
      ),
    )
  }),

  operation('what fired does not fire again', 1, async ({ world, rig }) => {
    const [job] = dueJobs(world)
    if (!job) return null
    const rows = (await readDue(rig, world.now)).filter(({ jobId }) => jobId === job.id)
    fire(world, job)
    await fireRows(rig, rows, world.now)
    agree('what fires twice', [], (await fireRows(rig, rows, world.now)).moved)
    return true
  }),

  operation('nothing fires before it is due', 1, async ({ world, rig }) => {
    const [row] = await readDue(rig, world.now + 3_600_000, world.now + 1)
    if (!row) return null
    agree('what fires early', [], (await fireRows(rig, [row], row.due)).moved)
    return true
  }),

  operation('a leader whose clock is ahead fires nothing early', 1, async ({ world, rig }) => {
    for (const job of dueJobs(world)) {
      const next = nextAfter(job.definition, world.now - job.jitterMs)
      const isLast = job.definition.maxFires !== null
      if (next === null || isLast) continue
      const rows = (await readDue(rig, world.now)).filter(({ jobId }) => jobId === job.id)
      agree('what fires early', [], (await fireRows(rig, rows, next + job.jitterMs)).moved)
      return true
    }
    return null
  }),

  operation('a leader fires the retries that are due', 12, async ({ world, rig }) => {
    const due = returning(world)
    const rows = await readDueReturns(rig.database, 'retries', windowOf(rig, world.now))
    agree('what comes back', due.map(({ id }) => id).sort(), rows.map(({ executionId }) => executionId).sort())
    if (due.length === 0) return null
    for (const execution of due) makeReady(world, execution)
    const moved = await bringBack(
      rig,
      'retries',
      inOrder(
        rows,
        due.map(({ id }) => id),
      ),
    )
    agree('what came back', due.map(({ id }) => id).sort(), moved.toSorted())
    return true
  }),

  operation('a leader that was replaced fires no retries', 1, async ({ world, rig }) => {
    const rows = await readDueReturns(rig.database, 'retries', windowOf(rig, world.now))
    if (rows.length === 0 || rig.formerlyLed === rig.led) return null
    agree('what came back', [], await bringBack(rig, 'retries', rows, rig.formerlyLed))
    return true
  }),

  operation('nothing comes back before it is due', 1, async ({ world, rig }) => {
    const rows = await readDueReturns(rig.database, 'retries', windowOf(rig, world.now + 3_600_000, world.now + 1))
    if (rows.length === 0) return null
    agree('what came back', [], await bringBack(rig, 'retries', rows))
    return true
  }),

  operation('a leader takes up what was enqueued', 4, async (sides) => {
    const { world } = sides
    return [...world.enqueued.values()].some(({ runAt }) => runAt <= world.now) ? takeUpBoth(sides) : null
  }),

  operation('a leader fires what follows', 8, async (sides) => {
    return sides.world.following.length === 0 ? null : takeUpBoth(sides)
  }),

  operation('a leader that was replaced fires nothing that follows', 1, async ({ world, rig }) => {
    const rows = await readDueReturns(rig.database, 'submissions', windowOf(rig, world.now))
    if (rows.length === 0 || rig.formerlyLed === rig.led) return null
    agree('what was taken up', [], await bringBack(rig, 'submissions', rows, rig.formerlyLed))
    return true
  }),

  operation('another node leads', 1, async ({ rig }) => {
    await rig.elect()
    return true
  }),
]

/** What was enqueued first, in the order of its time; then what follows, in the order of ids. Twice: the second time nothing is left. */
export async function takeUpBoth(sides: Sides): Promise<boolean> {
  const { world, rig } = sides
  const rows = await readDueReturns(rig.database, 'submissions', windowOf(rig, world.now))
  await learnFollowing(sides)
  const due = [...world.enqueued.values()].filter(({ runAt }) => runAt <= world.now).map(({ id }) => id)
  const following = world.following.map(({ id }) => id!).sort()
  const found = rows.map(({ executionId }) => executionId)
  agree('what was enqueued or follows', [...due, ...following].sort(), found.toSorted())
  takeUp(world, due)
  const done = [...due, ...fireFollowing(world)]
  const ordered = inOrder(rows, [...due, ...following])
  agree('what was taken up', done.toSorted(), (await bringBack(rig, 'submissions', ordered)).toSorted())
  const again = ordered.filter(({ executionId }) => done.includes(executionId))
  agree('what is taken up twice', [], await bringBack(rig, 'submissions', again))
  return done.length > 0
}

/** Which id is to have what follows. Those that are alike are interchangeable. */
async function learnFollowing({ world, rig }: Sides): Promise<void> {
  const rows = await readFollowing(rig.database)
  for (const following of world.following) {
    const { follower, followed, named, runAt } = following
    const at = rows.findIndex((row) => {
      const isKnown = following.id === null ? !world.following.some(({ id }) => id === row.id) : following.id === row.id
      return isKnown && row.job === follower.id && row.after === followed && row.named === named && row.runAt === runAt
    })
    following.id = rows[at]?.id ?? null
  }
}

/** Does what must have no effect. */
async function mistaken(
  { world, rig }: Sides,
  fireWrongly: (rows: DueSchedule[], now: number) => Promise<Fired>,
): Promise<boolean | null> {
  const rows = await readDue(rig, world.now)
  if (rows.length === 0) return null
  agree('what has moved', [], (await fireWrongly(rows, world.now)).moved)
  return true
}

async function readDue(rig: Rig, until: number, from = 0): Promise<DueSchedule[]> {
  const rows = await readDueSchedules(rig.database, windowOf(rig, until, from))
  return rows.sort((a, b) => a.due - b.due || (a.jobId < b.jobId ? -1 : 1))
}

function windowOf({ led }: Rig, until: number, from = 0) {
  return { shards: led.map(({ shard }) => shard), from, until, limit: 10_000 }
}

/** As the scheduler does: planned from what was read, a tag for each that fires. */
async function fireRows(rig: Rig, rows: DueSchedule[], now: number, led: LedShard[] = rig.led): Promise<Fired> {
  const planned = rows.map((row) => planSchedule(row, now))
  const occurrences = planned.flatMap((plan) => plan.occurrences)
  for (const occurrence of occurrences) if (!occurrence.skip) occurrence.tag = rig.tag()
  return fireInStore(
    rig.database,
    led,
    planned.map(({ move }) => move),
    occurrences,
  )
}

/** What comes back now, first due first. */
function returning(world: World) {
  const due = openOnes(world).flatMap((execution) => {
    const { place } = execution
    return place.in === 'retries' && place.due <= world.now ? [{ execution, due: place.due }] : []
  })
  return due
    .sort((a, b) => a.due - b.due || (a.execution.id < b.execution.id ? -1 : 1))
    .map(({ execution }) => execution)
}

function inOrder(rows: DueReturn[], ids: string[]): DueReturn[] {
  return rows.toSorted((a, b) => ids.indexOf(a.executionId) - ids.indexOf(b.executionId))
}

async function bringBack(rig: Rig, source: ReturnSource, rows: DueReturn[], led = rig.led): Promise<string[]> {
  const items = rows.map(({ executionId }) => ({ executionId, tag: rig.tag() }))
  return (await fireReturns(rig.database, source, led, items)).moved
}
