/** Jobs: created, fired, changed, paused, resumed, triggered, deleted. */
import { occurrenceId, oneShotId } from '../../../packages/server/src/domain/identity.ts'
import { type AfterRefusal, afterRefusal } from './followers.ts'
import { after, birth, endUnfollowed, finish, stop } from './life.ts'
import { admit, countAll } from './overlap.ts'
import { nextAfter, occurrencesFrom, occursAt, passedInPause, planOf, type Skip, skipOf } from './schedule.ts'
import { type Definition, dueOf, type Execution, executionsOf, isOpen, type Job, nameOf, type World } from './world.ts'

export function createJob(
  world: World,
  born: { id: string; tenant: string; definition: Definition; jitterMs: number },
): Job {
  const { id, tenant, definition, jitterMs } = born
  const job: Job = {
    ...{ id, tenant, name: nameOf(world, 'job '), definition, version: 1, state: 'ACTIVE', jitterMs, fires: 0 },
    nominal: definition.every === null ? definition.runAt : nextAfter(definition, world.now),
    ...{ updatedAt: world.now, counted: new Set(), timesChanged: false },
  }
  world.jobs.set(id, job)
  return job
}

export function idAt({ id, definition }: Job, nominal: number): string {
  return definition.every === null ? oneShotId(id, nominal) : occurrenceId(id, nominal)
}

/** Jobs that are due, earliest first. */
export function dueJobs(world: World): Job[] {
  const due = [...world.jobs.values()].flatMap((job) => {
    const at = dueOf(job)
    return at !== null && at <= world.now ? [{ job, at }] : []
  })
  return due.sort((a, b) => a.at - b.at || (a.job.id < b.job.id ? -1 : 1)).map(({ job }) => job)
}

/** Turns what is due of a job into executions and skips, and moves its schedule on. */
export function fire(world: World, job: Job): void {
  const { definition, jitterMs } = job
  const { work } = definition
  const plan = planOf(job, world.now)
  record(world, job, plan.skip, definition.every === null ? null : job.version)
  plan.fire.forEach((nominal, i) => {
    const dueAt = nominal + jitterMs
    const execution = birth(world, {
      ...{ id: idAt(job, nominal), job, origin: 'SCHEDULE', work, scheduledFor: nominal, dueAt },
      expiresAt: after(dueAt, work.startWithinSec),
    })
    const isNewest = i === plan.fire.length - 1
    if (definition.overlap === 'REPLACE' && !isNewest) endUnfollowed(world, execution, 'CANCELLED', 'REPLACED')
    else admit(world, job, execution)
  })
  job.fires += plan.fire.length
  job.nominal = plan.next
  if (plan.next === null) changeState(world, job, definition.every === null ? 'GONE' : 'COMPLETED')
}

/** What is skipped is on record too. */
function record(world: World, job: Job, skips: Skip[], version: number | null): void {
  for (const { reason, first, last, count } of skips) {
    const { work } = job.definition
    const execution = birth(world, {
      ...{ id: idAt(job, first), job, origin: 'SCHEDULE', work, scheduledFor: first, dueAt: first + job.jitterMs },
      expiresAt: null,
    })
    execution.deadlineAt = null
    execution.version = version
    execution.skipped = { last, count }
    finish(world, execution, 'SKIPPED', reason)
  }
}

function changeState(world: World, job: Job, state: Job['state']): void {
  if (job.state !== state) job.updatedAt = world.now
  job.state = state
  if (state === 'DELETED' || state === 'GONE') job.nominal = null
}

export type Refusal = AfterRefusal | 'STATE_CONFLICT' | 'SCHEDULE_NEVER_FIRES' | 'VERSION_MISMATCH'

export function pause(world: World, job: Job): Refusal | null {
  if (job.state === 'COMPLETED') return 'STATE_CONFLICT'
  changeState(world, job, 'PAUSED')
  return null
}

export function resume(world: World, job: Job): Refusal | null {
  if (job.state === 'COMPLETED') return 'STATE_CONFLICT'
  if (job.state === 'ACTIVE') return null
  settle(world, job)
  const isOver = job.nominal === null && job.definition.after === null
  changeState(world, job, isOver ? 'COMPLETED' : 'ACTIVE')
  return null
}

/** Puts on record what a paused job has passed. */
export function settle(world: World, job: Job): void {
  if (job.state !== 'PAUSED' || job.nominal === null) return
  const { skip, next } = passedInPause(world, job)
  record(world, job, skip, job.version)
  job.nominal = next
  if (next === null) changeState(world, job, 'COMPLETED')
}

/** The job fires no more; what is pending of it is cancelled, what runs only if asked for. */
export function remove(world: World, job: Job, cancelRunning: boolean): void {
  settle(world, job)
  changeState(world, job, 'DELETED')
  for (const execution of executionsOf(world, job)) {
    if (isOpen(execution) && (cancelRunning || execution.place.in !== 'running')) stop(world, execution, 'JOB_DELETED')
  }
}

/** Runs the job now, apart from its schedule; a paused one too. */
export function trigger(world: World, job: Job, id: string): 'READY' | 'WAIT' | 'SKIP' {
  const { work } = job.definition
  const execution = birth(world, {
    ...{ id, job, origin: 'TRIGGER', work, scheduledFor: world.now, dueAt: world.now },
    expiresAt: after(world.now, work.startWithinSec),
  })
  return admit(world, job, execution)
}

/**
 * Gives a job another definition, for every occurrence not yet fired. The occurrence it stands at, if its time has come,
 * stays if the new schedule has it too; else the edit has removed all that have come, which is on record.
 */
export function edit(world: World, job: Job, definition: Definition, version = job.version): Refusal | null {
  if (version !== job.version) return 'VERSION_MISMATCH'
  const refusal = afterRefusal(world, job.tenant, definition, job)
  if (refusal !== null) return refusal
  const old = job.definition
  const { now } = world
  const sameTimes = JSON.stringify(timesOf(old)) === JSON.stringify(timesOf(definition))
  const isOver = job.state === 'COMPLETED' && sameTimes && old.maxFires === definition.maxFires
  if (!isOver && definition.maxFires !== null && definition.maxFires <= job.fires) return 'SCHEDULE_NEVER_FIRES'
  const moves = !isOver && definition.after === null && !(sameTimes && job.nominal !== null)
  if (moves && nextAfter(definition, now) === null && !staysAt(world, job, definition)) return 'SCHEDULE_NEVER_FIRES'
  if (moves) {
    const state = job.state === 'COMPLETED' ? 'ACTIVE' : job.state
    const { skip, next } = state === 'PAUSED' && job.nominal !== null ? passedInPause(world, job) : standing(job)
    const hasCome = next !== null && next <= now
    const stays = hasCome && occursAt(definition, next)
    record(world, job, skip, job.version)
    if (hasCome && !stays) record(world, job, skipOf(occurrencesFrom(old, next, now), 'EDITED'), job.version)
    job.nominal = stays ? next : nextAfter(definition, now)
    job.state = state
    job.timesChanged ||= !sameTimes
  }
  const limited = old.overlap === 'ALLOW' && definition.overlap !== 'ALLOW'
  job.definition = definition
  job.version++
  job.updatedAt = now
  if (limited) countAll(world, job)
  return null
}

function standing({ nominal }: Job): { skip: Skip[]; next: number | null } {
  return { skip: [], next: nominal }
}

function staysAt(world: World, job: Job, definition: Definition): boolean {
  const { next } = job.state === 'PAUSED' && job.nominal !== null ? passedInPause(world, job) : standing(job)
  return next !== null && next <= world.now && occursAt(definition, next)
}

function timesOf({ every, runAt, startAt, endAt }: Definition): unknown {
  return { every, runAt, startAt, endAt }
}

/** After so many dead letters in a row since it was changed or resumed, a job that asks for it is paused. */
export function pauseFailing(world: World): void {
  for (const job of new Set(world.died.map((execution) => execution.job))) {
    if (job?.state !== 'ACTIVE') continue
    const { pauseAfterFailures: most } = job.definition
    if (most === null) continue
    const ended = executionsOf(world, job)
      .flatMap((execution) => endOf(execution, job.updatedAt))
      .sort((a, b) => (a.id > b.id ? -1 : 1))
      .slice(0, most)
    if (ended.length === most && ended.every(({ state }) => state === 'DEAD')) changeState(world, job, 'PAUSED')
  }
  world.died = []
}

function endOf({ id, place }: Execution, since: number): { id: string; state: string }[] {
  if (place.in !== 'ledger' || place.finishedAt <= since) return []
  return place.state === 'SUCCEEDED' || place.state === 'DEAD' ? [{ id, state: place.state }] : []
}
