/** How an attempt ends: what somebody says of it, and what comes of that. */
import { comeBack, finish, leaseOf } from './life.ts'
import type { Execution, Failure, Lease, Work, World } from './world.ts'

/** What a worker says, or a node in its place. */
export interface Said {
  outcome: 'SUCCEEDED' | Failure | 'CANCELLED' | 'HANDED_BACK' | 'COMPLETED_IN_TRANSACTION'
  /** Of a hand-back. */
  reason?: 'SHUTDOWN' | 'UNKNOWN_HANDLER' | 'NOT_STARTED' | 'NOT_NAMED' | 'UNDELIVERED'
  /** Of a hand-back: whether its handler had begun. */
  began?: boolean
  startedAt?: number
  errorName?: string
  retryAfterMs?: number
  permanent?: boolean
  result?: string
  progress?: string
}

const unknownHandlerDelayMs = 1_000
/** A wait that ended before the handler began costs no attempt, but not for ever, unless it is known that it never began. */
const mostFreeReturns = 3

/** ACCEPTED: taken over, now or before. REFUSED: the lease is not (any more) what the report names. */
export function report(world: World, execution: Execution | null, fence: number, said: Said): 'ACCEPTED' | 'REFUSED' {
  const lease = execution && leaseOf(execution, fence)
  if (!lease) return execution && wasTold(execution, fence, said) ? 'ACCEPTED' : 'REFUSED'
  execution.fence = fence
  execution.workerId = lease.workerId
  execution.startedAt = Math.min(said.startedAt ?? lease.leasedAt, world.now)
  execution.progress = said.progress ?? lease.progress ?? execution.progress
  if (lease.completed || said.outcome === 'SUCCEEDED') {
    execution.attempt = lease.attempt
    execution.result = lease.completed ? lease.completed.result : (said.result ?? null)
    execution.told.push({ fence, outcome: 'SUCCEEDED' })
    // Completed in the handler's own transaction, whatever is said of it: that is on record, and may be said again.
    if (said.outcome !== 'SUCCEEDED' && said.outcome !== 'COMPLETED_IN_TRANSACTION') {
      execution.told.push({ fence, outcome: said.outcome })
    }
    finish(world, execution, 'SUCCEEDED', null)
    return 'ACCEPTED'
  }
  const { outcome, next } = nextOf(world, execution, lease, said)
  const isRelease = outcome === 'HANDED_BACK'
  if (isRelease) execution.releases++
  else execution.attempt = lease.attempt
  execution.told.push({ fence, outcome })
  const stopped = lease.cancel && stoppedAs(lease.cancel.reason)
  const reason = stopped ? stopped.reason : next.what === 'AGAIN' ? (isRelease ? next.reason : null) : next.reason
  execution.timeline.push(`${outcome}${reason === null ? '' : ` ${reason}`} ${fence}`)
  if (stopped) finish(world, execution, stopped.state, stopped.reason)
  else if (next.what === 'END') finish(world, execution, next.state, next.reason)
  else comeBack(execution, next.at, isRelease ? 'PENDING' : (outcome as Failure))
  return 'ACCEPTED'
}

/**
 * A report that says of this fence what is known of it already is the same report once more.
 */
function wasTold({ told }: Execution, fence: number, { outcome }: Said): boolean {
  const same = outcome === 'COMPLETED_IN_TRANSACTION' ? 'FAILED' : outcome
  const completed = outcome === 'COMPLETED_IN_TRANSACTION'
  return told.some(
    (each) => each.fence === fence && (each.outcome === same || (completed && each.outcome === 'SUCCEEDED')),
  )
}

function stoppedAs(reason: string): { state: 'DEAD' | 'CANCELLED'; reason: string } {
  return { state: reason === 'DEADLINE' ? 'DEAD' : 'CANCELLED', reason }
}

type Next =
  | { what: 'AGAIN'; at: number; reason: string | null }
  | { what: 'END'; state: 'DEAD' | 'CANCELLED'; reason: string }

interface Verdict {
  outcome: Failure | 'CANCELLED' | 'HANDED_BACK'
  next: Next
}

function nextOf(world: World, execution: Execution, lease: Lease, said: Said): Verdict {
  switch (said.outcome) {
    case 'CANCELLED':
      return { outcome: 'CANCELLED', next: { what: 'END', state: 'CANCELLED', reason: 'CANCELLED' } }
    case 'HANDED_BACK':
      return handedBack(world, execution, said)
    case 'WORKER_LOST':
    case 'TIMED_OUT':
      if (returnsFree(execution, lease, said)) {
        execution.freeReturns++
        return { outcome: 'HANDED_BACK', next: { what: 'AGAIN', at: world.now, reason: said.outcome } }
      }
      return { outcome: said.outcome, next: failed(world, execution, lease, said, said.outcome) }
    default:
      // One that says it was completed, though its transaction did not commit, has failed.
      return { outcome: 'FAILED', next: failed(world, execution, lease, said, 'FAILED') }
  }
}

function returnsFree({ work, freeReturns }: Execution, lease: Lease, { startedAt }: Said): boolean {
  return !lease.began && startedAt === undefined && (work.atMostOnce || freeReturns < mostFreeReturns)
}

function handedBack(world: World, execution: Execution, { reason, began }: Said): Verdict {
  const { work } = execution
  if (work.atMostOnce && began) {
    return { outcome: 'FAILED', next: { what: 'END', state: 'DEAD', reason: 'OUTCOME_UNKNOWN' } }
  }
  if (reason !== 'UNKNOWN_HANDLER') {
    return { outcome: 'HANDED_BACK', next: { what: 'AGAIN', at: world.now, reason: reason ?? null } }
  }
  execution.unknownHandlerSince ??= world.now
  const over = world.now - execution.unknownHandlerSince >= work.unknownHandlerSec * 1_000
  const next: Next = over
    ? { what: 'END', state: 'DEAD', reason }
    : { what: 'AGAIN', at: world.now + unknownHandlerDelayMs, reason }
  return { outcome: 'HANDED_BACK', next }
}

function failed(world: World, { work, deadlineAt }: Execution, lease: Lease, said: Said, outcome: Failure): Next {
  const dead = (reason: string): Next => ({ what: 'END', state: 'DEAD', reason })
  if (work.atMostOnce) return dead(outcome === 'FAILED' ? 'NOT_RETRYABLE' : 'OUTCOME_UNKNOWN')
  if (said.permanent || (said.errorName && work.notRetryable.includes(said.errorName))) return dead('NOT_RETRYABLE')
  if (lease.attempt >= work.maxAttempts) return dead('ATTEMPTS_USED_UP')
  const at = world.now + (said.retryAfterMs ?? delayMs(work, lease.attempt))
  return deadlineAt !== null && at >= deadlineAt ? dead('DEADLINE') : { what: 'AGAIN', at, reason: null }
}

/** After so many attempts. The cap is for delays that grow. */
function delayMs({ backoff, initialDelayMs, factor, maxDelayMs }: Work, attempts: number): number {
  if (Array.isArray(backoff)) return backoff[Math.min(attempts, backoff.length) - 1]!
  if (backoff === 'FIXED') return initialDelayMs
  let delay = initialDelayMs
  for (let i = 1; i < attempts; i++) delay = backoff === 'LINEAR' ? delay + initialDelayMs : delay * factor
  return Math.min(delay, Math.max(maxDelayMs, initialDelayMs))
}

/** Leaves it to somebody outside, who will report under the same fence. */
export function defer(world: World, execution: Execution, fence: number): 'ACCEPTED' | 'REFUSED' {
  const lease = leaseOf(execution, fence)
  const known = ['DEFERRED', 'SUCCEEDED']
  if (!lease) {
    return execution.told.some((each) => each.fence === fence && known.includes(each.outcome)) ? 'ACCEPTED' : 'REFUSED'
  }
  if (lease.workerId === null) return 'ACCEPTED'
  if (!lease.began) lease.overdueAt += world.now - lease.leasedAt
  lease.began = true
  lease.workerId = null
  execution.told.push({ fence, outcome: 'DEFERRED' })
  execution.timeline.push(`DEFERRED ${fence}`)
  return 'ACCEPTED'
}

/** In the handler's own transaction, which commits at once here. */
export function completeIn(execution: Execution, fence: number, result: string | null): boolean {
  const lease = leaseOf(execution, fence)
  if (!lease) return false
  lease.completed = { result }
  return true
}
