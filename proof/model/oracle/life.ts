/** How an execution moves from place to place, whoever moves it. */
import { follow } from './followers.ts'
import { release } from './overlap.ts'
import {
  type End,
  type Execution,
  type Job,
  type Lease,
  nameOf,
  type Place,
  runsOnce,
  type Work,
  type World,
} from './world.ts'

export interface Birth {
  id: string
  job: Job | null
  origin: Execution['origin']
  work: Work
  scheduledFor: number
  dueAt: number
  expiresAt: number | null
  lane?: number
}

/** A new execution that stands nowhere yet: the caller puts it in its place. */
export function birth(world: World, from: Birth): Execution {
  const { job, work } = from
  const recurring = job !== null && !runsOnce(job.definition)
  const execution: Execution = {
    ...{ id: from.id, name: nameOf(world, 'execution '), job, run: null, origin: from.origin, work },
    lane: from.lane ?? work.lane,
    version: recurring ? job.version : null,
    ...{ scheduledFor: from.scheduledFor, dueAt: from.dueAt, firedAt: world.now, expiresAt: from.expiresAt },
    deadlineAt: after(world.now, work.deadlineSec),
    place: { in: 'waiting' },
    ...{ attempt: 0, releases: 0, progress: null, result: null, inputs: null, fence: null },
    ...{ workerId: null, startedAt: null },
    ...{ skipped: null, told: [], timeline: [], unknownHandlerSince: null, freeReturns: 0 },
  }
  world.executions.set(execution.id, execution)
  return execution
}

export function after(at: number, seconds: number | null): number | null {
  return seconds === null ? null : at + seconds * 1_000
}

/** To the end of its queue. */
export function makeReady(world: World, execution: Execution): void {
  execution.place = { in: 'ready', turn: ++world.turns }
}

export function comeBack(execution: Execution, due: number, shows: Extract<Place, { in: 'retries' }>['shows']): void {
  execution.place = { in: 'retries', due, shows }
}

/** Ends it for good, lets go what waited for that, and is followed. */
export function finish(world: World, execution: Execution, state: End, reason: string | null): void {
  endUnfollowed(world, execution, state, reason)
  follow(world, execution)
}

/** As above; but nothing follows what never was anything but ended. */
export function endUnfollowed(world: World, execution: Execution, state: End, reason: string | null): void {
  execution.place = { in: 'ledger', state, reason, finishedAt: world.now }
  world.ends.add(reason === null ? state : `${state} ${reason}`)
  if (state === 'DEAD') world.died.push(execution)
  if (execution.job) release(world, execution.job)
}

/** What has not started ends; what runs is told to stop, and ends through its report or after the grace. */
export function stop(world: World, execution: Execution, reason: string): 'CANCELLED' | 'FLAGGED' | 'ENDED' {
  const { place } = execution
  if (place.in === 'ledger') return 'ENDED'
  if (place.in === 'running') {
    flag(world, execution, place.lease, reason)
    return 'FLAGGED'
  }
  finish(world, execution, 'CANCELLED', reason)
  return 'CANCELLED'
}

/** The first reason stands. */
export function flag(world: World, { work }: Execution, lease: Lease, reason: string): void {
  lease.cancel ??= { reason }
  lease.overdueAt = Math.min(lease.overdueAt, world.now + work.cancelGraceSec * 1_000)
}

/** What has a start window that is over without it ever having been leased. */
export function isExpired(world: World, { expiresAt, attempt, releases, place }: Execution): boolean {
  return expiresAt !== null && expiresAt <= world.now && attempt + releases === 0 && place.in !== 'running'
}

export interface Slot {
  workerId: string
  prefetched: boolean
}

/**
 * Gives what is ready in a pool to free slots: higher lanes first, within a lane first come, first leased. The fences are
 * not known yet. What has expired is found out here and takes the slot it was meant for.
 */
export function lease(world: World, pool: string, slots: Slot[]): { execution: Execution; lease: Lease }[] {
  if (world.pausedPools.has(pool)) return []
  const queue = [...world.executions.values()]
    .flatMap((execution) => {
      const { place } = execution
      return place.in === 'ready' && execution.work.pool === pool ? [{ execution, turn: place.turn }] : []
    })
    .sort((a, b) => a.execution.lane - b.execution.lane || a.turn - b.turn)
    .slice(0, slots.length)
  return queue.flatMap(({ execution }, i) => {
    if (isExpired(world, execution)) {
      // A step is left to the sweeper.
      if (execution.run === null) finish(world, execution, 'SKIPPED', 'EXPIRED')
      return []
    }
    const { work } = execution
    const { workerId, prefetched } = slots[i]!
    const lease: Lease = {
      ...{ fence: 0, workerId, attempt: execution.attempt + 1, leasedAt: world.now, heartbeatAt: world.now },
      overdueAt: world.now + (work.timeoutSec + work.cancelGraceSec) * 1_000,
      began: !prefetched && !work.atMostOnce,
      ...{ progress: null, cancel: null, completed: null },
    }
    execution.place = { in: 'running', lease }
    return [{ execution, lease }]
  })
}

/** Whether a handler may begin: only under a lease that holds and that nobody has cancelled. */
export function begin(world: World, execution: Execution, fence: number): boolean {
  const lease = leaseOf(execution, fence)
  if (!lease || lease.cancel) return false
  if (lease.began) return true
  // Its time runs from now: it has waited in the worker.
  lease.began = true
  lease.heartbeatAt = world.now
  lease.overdueAt += world.now - lease.leasedAt
  return true
}

/** A sign of life of a handler. */
export function heartbeat(world: World, execution: Execution, fence: number, progress: string | null): void {
  const lease = leaseOf(execution, fence)
  if (!lease) return
  lease.heartbeatAt = world.now
  lease.progress = progress ?? lease.progress
}

export function leaseOf({ place }: Execution, fence: number): Lease | null {
  return place.in === 'running' && place.lease.fence === fence ? place.lease : null
}
