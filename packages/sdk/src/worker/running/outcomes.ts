/** The outcome of an attempt from how its handler ended and whether it had been told to stop. Pure. */
import type { Held } from '../held.ts'
import type { Failure } from '../reporting/reported-error.ts'
import type { HandBackReason, ReportedOutcome } from '../transport.ts'

function base(held: Held, finishedAt: number) {
  const { executionId, fence } = held.execution
  const log = held.logged?.lines
  return log === undefined
    ? { executionId, fence, startedAt: held.startedAt, finishedAt }
    : { executionId, fence, startedAt: held.startedAt, finishedAt, log }
}

/** The newest progress goes with an outcome that leads to another attempt, in case it was not sent before. */
function withProgress(held: Held) {
  return held.progress === null ? {} : { progress: held.progress }
}

export function succeeded(held: Held, finishedAt: number, result: string | null): ReportedOutcome {
  return { ...base(held, finishedAt), outcome: 'SUCCEEDED', result }
}

export function completedInTransaction(held: Held, finishedAt: number): ReportedOutcome {
  return { ...base(held, finishedAt), outcome: 'COMPLETED_IN_TRANSACTION' }
}

export function failed(held: Held, finishedAt: number, failure: Failure): ReportedOutcome {
  const { deferred: _, ...said } = failure
  return { ...base(held, finishedAt), outcome: 'FAILED', ...said, ...withProgress(held) }
}

export function deferred(held: Held, finishedAt: number): ReportedOutcome {
  return { ...base(held, finishedAt), outcome: 'DEFERRED' }
}

/** An external system has the work by now: a worker that stops must not cause it to be done twice. */
export function deferralCounts(held: Held, failure: Failure): boolean {
  if (!failure.deferred || held.completedInTransaction) return false
  return held.aborted === null || held.aborted.code === 'SHUTDOWN'
}

export function handedBack(held: Held, finishedAt: number, reason: HandBackReason): ReportedOutcome {
  return { ...base(held, finishedAt), outcome: 'HANDED_BACK', reason, ...withProgress(held) }
}

function timedOut(held: Held, finishedAt: number, message: string): ReportedOutcome {
  const error = { name: 'TimedOut', message }
  return { ...base(held, finishedAt), outcome: 'TIMED_OUT', error, ...withProgress(held) }
}

/**
 * The outcome of an attempt that was told to stop and did not say that it succeeded: its handler threw (`failure`), or
 * did not end within the grace or never began (null). A lost lease has no outcome.
 */
export function stopped(held: Held, finishedAt: number, failure: Failure | null): ReportedOutcome | null {
  const { code, message } = held.aborted!
  switch (code) {
    case 'LEASE_LOST':
      return null
    case 'TIMED_OUT':
      return timedOut(held, finishedAt, message)
    case 'SHUTDOWN':
      if (failure?.permanent) return failed(held, finishedAt, failure)
      return handedBack(held, finishedAt, held.startedAt === null ? 'NOT_STARTED' : 'SHUTDOWN')
    case 'CANCELLED':
      return failure === null
        ? { ...base(held, finishedAt), outcome: 'CANCELLED' }
        : { ...base(held, finishedAt), outcome: 'CANCELLED', error: failure.error }
  }
}

/**
 * Whether a handler that returns after it was told to stop is done. After its timeout it is not: the attempt was over.
 * On shutdown only if it never looked at its signal: one that did may have stopped half-way, and running it again is
 * better than losing it. When cancelled it is; the installation has the last word by its cancel flag.
 */
export function returnCounts(held: Held): boolean {
  switch (held.aborted?.code) {
    case 'TIMED_OUT':
      return false
    case 'SHUTDOWN':
      return !held.signalSeen
    default:
      return true
  }
}
