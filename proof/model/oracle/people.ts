/** What callers ask for: work to be done, stopped, or done again; at most one under a key. */

import { remove } from './jobs.ts'
import { after, birth, comeBack, finish, makeReady, stop } from './life.ts'
import { isBusy } from './overlap.ts'
import {
  type Definition,
  type Execution,
  isOpen,
  type Job,
  nameOf,
  runsOnce,
  type Stand,
  type Work,
  type World,
} from './world.ts'

/** Due now: into the ledger and the queue at once. */
export function submit(world: World, { id, work, runAt }: { id: string; work: Work; runAt: number }): Execution {
  const execution = birth(world, {
    ...{ id, job: null, origin: 'SUBMIT', work, scheduledFor: runAt, dueAt: runAt },
    expiresAt: after(runAt, work.startWithinSec),
  })
  makeReady(world, execution)
  return execution
}

export function enqueue(world: World, { id, work, runAt }: { id: string; work: Work; runAt: number }): void {
  world.enqueued.set(id, { id, name: nameOf(world, 'enqueued '), work, runAt })
}

/** What was enqueued and is due, in the order of its time. */
export function takeUp(world: World, ids: string[]): void {
  for (const id of ids) {
    const enqueued = world.enqueued.get(id)
    if (!enqueued || enqueued.runAt > world.now) continue
    world.enqueued.delete(id)
    submit(world, enqueued)
  }
}

/** What is to come never fires, what is pending never starts, what runs is told to stop. */
export function cancel(world: World, id: string): 'CANCELLED' | 'CANCELLING' | 'ENDED' | 'EXECUTION_NOT_FOUND' {
  const execution = world.executions.get(id)
  if (execution) {
    const verdict = stop(world, execution, 'CANCELLED')
    return verdict === 'FLAGGED' ? 'CANCELLING' : verdict
  }
  if (world.enqueued.delete(id)) return 'CANCELLED'
  const job = world.jobs.get(id)
  if (!isComing(job)) return 'EXECUTION_NOT_FOUND'
  remove(world, job, false)
  return 'CANCELLED'
}

/** A one-shot that has not fired. */
function isComing(job: Job | undefined): job is Job {
  return job !== undefined && runsOnce(job.definition) && (job.state === 'ACTIVE' || job.state === 'PAUSED')
}

/** Brings a dead or cancelled one back with all its attempts: a new life, without the times of the first one. */
export function replay(world: World, execution: Execution): 'REPLAYED' | 'STATE_CONFLICT' | 'OVERLAP_FORBIDDEN' {
  const { place, job } = execution
  // What waited for a step has been told how it ended: its run is retried instead.
  if (execution.run) return 'STATE_CONFLICT'
  if (place.in !== 'ledger' || (place.state !== 'DEAD' && place.state !== 'CANCELLED')) return 'STATE_CONFLICT'
  if (job && isBusy(job)) return 'OVERLAP_FORBIDDEN'
  anew(execution)
  execution.expiresAt = null
  execution.deadlineAt = null
  execution.timeline.push('PENDING REPLAYED')
  if (job && job.definition.overlap !== 'ALLOW') job.counted.add(execution)
  comeBack(execution, world.now, 'PENDING')
  return 'REPLAYED'
}

export function anew(execution: Execution): void {
  execution.attempt = 0
  execution.releases = 0
  execution.result = null
  execution.freeReturns = 0
  execution.unknownHandlerSince = null
}

export interface Dedupe {
  key: string
  while: 'PENDING' | 'UNFINISHED'
  onDuplicate: 'KEEP' | 'REPLACE' | 'DEBOUNCE'
  windowSec: number | null
  maxWaitSec: number | null
}

export type DedupeVerdict =
  | { verdict: 'KEPT'; stands: string }
  | { verdict: 'NEW' | 'REPLACED' | 'DEBOUNCED'; runAt: number; stand: Omit<Stand, 'id'> }

/** What becomes of a submission under a key. What has started is never taken back. */
export function dedupe(world: World, asked: Dedupe, runAt: number): DedupeVerdict {
  const { now } = world
  const windowUntil = after(now, asked.windowSec)
  const stood = world.stands.get(asked.key)
  const state = stood ? standingOf(world, stood.id) : null
  const withinWindow = stood != null && stood.windowUntil !== null && now < stood.windowUntil
  const isDuplicate = {
    OPEN: true,
    STARTED: asked.while === 'UNFINISHED' || withinWindow,
    ENDED: withinWindow,
    NONE: false,
  }[state ?? 'NONE']
  if (!stood || !isDuplicate) return { verdict: 'NEW', runAt, stand: { firstAt: now, windowUntil } }
  if (state !== 'OPEN' || asked.onDuplicate === 'KEEP') return { verdict: 'KEPT', stands: firedAs(world, stood.id) }
  const stand = { firstAt: stood.firstAt, windowUntil }
  takeBack(world, stood.id)
  if (asked.onDuplicate === 'REPLACE') return { verdict: 'REPLACED', runAt, stand }
  const latest = asked.maxWaitSec === null ? Number.POSITIVE_INFINITY : stood.firstAt + asked.maxWaitSec * 1_000
  return { verdict: 'DEBOUNCED', runAt: Math.min(runAt, Math.max(latest, now)), stand }
}

/** OPEN: it has not started. Null: it is gone. */
function standingOf(world: World, id: string): 'OPEN' | 'STARTED' | 'ENDED' | null {
  if (isComing(world.jobs.get(id))) return 'OPEN'
  const execution = world.executions.get(firedAs(world, id))
  if (!execution) return null
  const { place } = execution
  if (place.in === 'ledger') return 'ENDED'
  if (place.in === 'running' || (place.in === 'retries' && place.shows !== 'PENDING')) return 'STARTED'
  return 'OPEN'
}

/** The execution of a submission: its own id, unless its time was changed before it fired. */
function firedAs(world: World, id: string): string {
  if (world.executions.has(id)) return id
  const fired = [...world.executions.values()].filter((each) => each.job?.id === id && each.origin === 'SCHEDULE')
  return (
    fired
      .map((each) => each.id)
      .sort()
      .at(-1) ?? id
  )
}

function takeBack(world: World, id: string): void {
  const job = world.jobs.get(id)
  if (isComing(job)) {
    job.state = 'GONE'
    job.nominal = null
    return
  }
  const execution = world.executions.get(firedAs(world, id))
  if (execution && isOpen(execution)) finish(world, execution, 'CANCELLED', 'REPLACED')
}

/** A submission that is to run later is a job until then. */
export function laterOf(work: Work, runAt: number): Definition {
  return {
    ...{ key: null, every: null, runAt, after: null, startAt: null, endAt: null, maxFires: null, jitterSec: 0 },
    ...{ misfire: 'FIRE_ONCE', misfireAfterSec: 60, maxCatchUp: 1_000, graceSec: null },
    ...{ overlap: 'ALLOW', pauseAfterFailures: null, work },
  }
}
