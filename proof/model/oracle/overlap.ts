/**
 * Overlap of a job with itself. Every unfinished execution of the job counts, wherever it stands; what fired while overlap
 * was allowed counts again once the limit is back.
 */
import { finish, makeReady, stop } from './life.ts'
import { type Execution, executionsOf, isOpen, type Job, type World } from './world.ts'

/** Puts a new execution in its place, or skips it. */
export function admit(world: World, job: Job, execution: Execution): 'READY' | 'WAIT' | 'SKIP' {
  const { overlap } = job.definition
  if (overlap === 'ALLOW') {
    makeReady(world, execution)
    return 'READY'
  }
  if (overlap === 'REPLACE') for (const old of openOf(job)) stop(world, old, 'REPLACED')
  const open = recount(job)
  if (open.length === 0) {
    job.counted.add(execution)
    makeReady(world, execution)
    return 'READY'
  }
  const mayWait = overlap === 'REPLACE' || (overlap === 'QUEUE_ONE' && !open.some(waits))
  if (!mayWait) {
    finish(world, execution, 'SKIPPED', 'OVERLAP')
    return 'SKIP'
  }
  job.counted.add(execution)
  execution.place = { in: 'waiting' }
  return 'WAIT'
}

/** Whether one more would overlap. */
export function isBusy(job: Job): boolean {
  return job.definition.overlap !== 'ALLOW' && recount(job).length > 0
}

/** What has ended counts no more, even if it is replayed while overlap is allowed. */
function recount(job: Job): Execution[] {
  const open = openOf(job)
  job.counted = new Set(open)
  return open
}

export function openOf(job: Job): Execution[] {
  return [...job.counted].filter(isOpen)
}

/** The limit begins: whatever is unfinished counts. */
export function countAll(world: World, job: Job): void {
  job.counted = new Set(executionsOf(world, job).filter(isOpen))
}

/** The oldest that waits goes on once nothing is in its way. */
export function release(world: World, job: Job): void {
  const open = openOf(job)
  if (open.some((execution) => !waits(execution))) return
  const [next] = open.sort((a, b) => (a.id < b.id ? -1 : 1))
  if (next) next.place = { in: 'retries', due: world.now, shows: 'PENDING' }
}

function waits({ place }: Execution): boolean {
  return place.in === 'waiting'
}
