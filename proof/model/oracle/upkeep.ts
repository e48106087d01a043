/** What nobody reports: lost workers, overdue attempts, start windows, deadlines. */
import { report } from './attempts.ts'
import { finish, flag, isExpired } from './life.ts'
import { expireRuns } from './runs.ts'
import { type Execution, type Lease, openOnes, type World } from './world.ts'

/** Both sides are told the same times. */
export const sweepEveryMs = 1_000
export const workerLostMs = 6_000
/** After a longer gap between two looks everybody gets the full time again. */
const gapMs = 3 * sweepEveryMs
/** And what ended meanwhile gets the time to say so. */
const reportAgainMs = 5_000

export function sweep(world: World): void {
  const { now, watch } = world
  if (now - watch.last > gapMs) watch.since = now
  watch.last = now
  const watchedMs = now - watch.since
  const overdue = leased(world).filter(({ execution, lease }) => isOverdue(world, execution, lease, watchedMs))
  expire(world)
  expireRuns(world)
  if (watchedMs >= reportAgainMs) {
    for (const { execution, lease } of overdue) report(world, execution, lease.fence, { outcome: 'TIMED_OUT' })
  }
  if (watchedMs < workerLostMs) return
  for (const { execution, lease } of leased(world)) {
    if (isLost(world, lease)) report(world, execution, lease.fence, { outcome: 'WORKER_LOST' })
  }
  const holders = new Set(leased(world).map(({ lease }) => lease.workerId))
  for (const [workerId, seenAt] of world.workers) {
    if (seenAt < now - workerLostMs && !holders.has(workerId)) world.workers.delete(workerId)
  }
}

export function leased(world: World): { execution: Execution; lease: Lease }[] {
  return openOnes(world).flatMap((execution) => {
    const { place } = execution
    return place.in === 'running' ? [{ execution, lease: place.lease }] : []
  })
}

/** Past its timeout or the grace after a cancel; or its handler has been silent for too long. */
function isOverdue({ now }: World, { work }: Execution, lease: Lease, watchedMs: number): boolean {
  if (lease.overdueAt < now) return true
  if (work.heartbeatTimeoutSec === null || !lease.began || lease.workerId === null) return false
  const silentMs = work.heartbeatTimeoutSec * 1_000
  return lease.heartbeatAt + silentMs < now && silentMs <= watchedMs
}

function isLost({ now, workers }: World, { workerId, leasedAt }: Lease): boolean {
  return workerId !== null && (workers.get(workerId) ?? leasedAt) < now - workerLostMs
}

/** What passed its deadline is dead, or told to stop if it runs; what was never leased in its window is skipped. */
function expire(world: World): void {
  for (const execution of openOnes(world)) {
    const { place, deadlineAt } = execution
    if (place.in === 'ledger') continue // ended with another
    if (deadlineAt !== null && deadlineAt <= world.now) {
      if (place.in === 'running') flag(world, execution, place.lease, 'DEADLINE')
      else finish(world, execution, 'DEAD', 'DEADLINE')
    } else if (isExpired(world, execution)) {
      finish(world, execution, 'SKIPPED', 'EXPIRED')
    }
  }
}
