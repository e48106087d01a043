/** From a worker's report to the change of the ledger. Pure: rules, time and randomness are arguments. */
import type { ReportedOutcome } from '@carillon/sdk'
import type { NodeOutcome } from '../domain/node-outcome.ts'
import { afterFailure, type FailedAttempt } from '../domain/retry.ts'
import type { ExecutionRules } from '../store/executions/read-rules.ts'
import type { AttemptEnd } from '../store/executions/report.ts'

type Said<S> = { executionId: string; fence: number; actor: string } & S

export type Deferred = Extract<ReportedOutcome, { outcome: 'DEFERRED' }>
export type Ending = Said<
  { from: 'WORKER'; said: Exclude<ReportedOutcome, Deferred> } | { from: 'NODE'; said: NodeOutcome }
>
/** Not an end: an external system will report the outcome. */
export type Deferral = Said<{ from: 'WORKER'; said: Deferred }>

/** The one or the other. */
export type AttemptReport = Said<{ from: 'WORKER'; said: ReportedOutcome } | { from: 'NODE'; said: NodeOutcome }>

export function isDeferral(told: AttemptReport): told is Deferral {
  return told.said.outcome === 'DEFERRED'
}

/** An execution without its handler waits this long before another worker gets it. */
const unknownHandlerDelayMs = 1_000
/** One beyond its tenant's share of a node's slots (targets/tenant-share.ts) waits this long. */
const noFreeSlotDelayMs = 2_000
/**
 * How often an execution returns without using an attempt because its worker was lost or it timed out before the worker said
 * that the handler had begun. A handler that kills or blocks its worker at once cannot say so: after that it is taken to have
 * begun. Not with AT_MOST_ONCE, where nothing begins before it was announced.
 */
const maxFreeReturns = 3

/** Whether the rules of the execution are needed: a success needs none. */
export function needsRules(ending: Ending): boolean {
  return ending.said.outcome !== 'SUCCEEDED' && ending.said.outcome !== 'CANCELLED'
}

export function decide(ending: Ending, rules: ExecutionRules | null, now: number, chance: number): AttemptEnd {
  const base: AttemptEnd = {
    executionId: ending.executionId,
    fence: ending.fence,
    outcome: ending.said.outcome,
    next: null,
    reason: null,
    retryAt: null,
    startedAt: ending.from === 'WORKER' ? ending.said.startedAt : null,
    result: null,
    error: null,
    progress: null,
    log: ending.from === 'WORKER' ? logOf(ending.said) : null,
    actor: ending.actor,
  }
  // Gone from the ledger, or never there: REPORT will refuse it.
  if (needsRules(ending) && rules === null) return { ...base, next: 'DEAD', reason: 'UNKNOWN' }
  if (ending.from === 'NODE') return decideNode(base, ending.said, rules!, now, chance)
  const { said } = ending
  switch (said.outcome) {
    case 'SUCCEEDED':
      return { ...base, result: said.result }
    case 'CANCELLED':
      return { ...base, reason: 'CANCELLED', error: said.error ?? null }
    case 'FAILED':
    case 'TIMED_OUT': {
      // A worker need not say when it started: what was leased for a free slot has begun.
      const began = said.startedAt !== null || rules!.began
      if (said.outcome === 'TIMED_OUT' && mayReturnFree(began, rules!)) return returnFree(base, said.outcome, now)
      const failed = { ...base, error: said.error, progress: said.progress ?? null }
      const directives = said.outcome === 'FAILED' ? said : {}
      return fail(failed, { outcome: said.outcome, errorName: said.error.name, ...directives }, rules!, now, chance)
    }
    case 'COMPLETED_IN_TRANSACTION': {
      // If the row says that the transaction did not commit, this is what counts.
      const error = {
        name: 'TransactionNotCommitted',
        message: 'completeIn was called but its transaction did not commit',
      }
      return fail({ ...base, error }, { outcome: 'FAILED', errorName: error.name }, rules!, now, chance)
    }
    case 'HANDED_BACK':
      return handBack({ ...base, progress: said.progress ?? null }, said.reason, said.startedAt !== null, rules!, now)
  }
}

export function logOf({ log }: ReportedOutcome): string | null {
  return log?.length ? `${log.join('\n')}\n` : null
}

function decideNode(
  base: AttemptEnd,
  said: NodeOutcome,
  rules: ExecutionRules,
  now: number,
  chance: number,
): AttemptEnd {
  switch (said.outcome) {
    case 'HANDED_BACK':
      return ifUnbegun(handBack(base, said.reason, said.began, rules, now), said, rules)
    case 'TIMED_OUT': {
      // Its handler may have begun since the node looked, and then its time runs from there.
      if (mayReturnFree(said.began, rules)) return { ...returnFree(base, said.outcome, now), next: 'RETRY_UNBEGUN' }
      const error = {
        name: 'TimedOut',
        message: 'the attempt did not end within its time, and its worker did not say so',
      }
      return fail({ ...base, error }, { outcome: 'TIMED_OUT', errorName: error.name }, rules, now, chance)
    }
    case 'WORKER_LOST': {
      if (mayReturnFree(said.began && !mayStartAgain(rules), rules))
        return ifUnbegun(returnFree(base, said.outcome, now), said, rules)
      const error = { name: 'WorkerLost', message: 'the worker sent no more heartbeats' }
      return fail({ ...base, error }, { outcome: 'WORKER_LOST', errorName: null }, rules, now, chance)
    }
  }
}

/** What never began uses no attempt, whatever ended the wait. */
function mayReturnFree(began: boolean, { policy, freeReturns }: ExecutionRules): boolean {
  return !began && (policy.delivery === 'AT_MOST_ONCE' || freeReturns < maxFreeReturns)
}

/** What starts a run does so once, however often it is tried: a node that is lost meanwhile is none of its own failures. */
function mayStartAgain({ startsRun, policy }: ExecutionRules): boolean {
  return startsRun && policy.delivery !== 'AT_MOST_ONCE'
}

function returnFree(base: AttemptEnd, reason: 'WORKER_LOST' | 'TIMED_OUT', now: number): AttemptEnd {
  return { ...base, outcome: 'HANDED_BACK', next: 'RETRY', reason, retryAt: Math.ceil(now) }
}

/** A node knows what it has read; what may start only once may have begun since. */
function ifUnbegun(end: AttemptEnd, { began }: { began: boolean }, { policy }: ExecutionRules): AttemptEnd {
  return !began && policy.delivery === 'AT_MOST_ONCE' ? { ...end, next: 'RETRY_UNBEGUN' } : end
}

function handBack(base: AttemptEnd, reason: string, began: boolean, rules: ExecutionRules, now: number): AttemptEnd {
  if (rules.policy.delivery === 'AT_MOST_ONCE' && began) {
    const error = {
      name: 'HandedBack',
      message: 'its worker stopped while the handler ran, and it may not start twice',
    }
    return { ...base, outcome: 'FAILED', next: 'DEAD', reason: 'OUTCOME_UNKNOWN', error }
  }
  if (reason === 'NO_FREE_SLOT') return { ...base, next: 'RETRY', reason, retryAt: Math.ceil(now + noFreeSlotDelayMs) }
  if (reason !== 'UNKNOWN_HANDLER') return { ...base, next: 'RETRY', reason, retryAt: Math.ceil(now) }
  const since = rules.unknownHandlerSince ?? now
  const error = { name: 'UnknownHandler', message: 'no worker of the pool that was asked has this handler' }
  if (now - since >= rules.policy.unknownHandlerSec * 1_000) return { ...base, next: 'DEAD', reason, error }
  return { ...base, next: 'RETRY', reason, retryAt: Math.ceil(now + unknownHandlerDelayMs) }
}

function fail(
  base: AttemptEnd,
  failed: Omit<FailedAttempt, 'attempt'>,
  rules: ExecutionRules,
  now: number,
  chance: number,
): AttemptEnd {
  const verdict = afterFailure(
    { ...failed, attempt: rules.attempt + 1 },
    { retryPolicy: rules.policy.retryPolicy, delivery: rules.policy.delivery, deadlineAt: rules.deadlineAt },
    now,
    chance,
  )
  return verdict.next === 'RETRY'
    ? { ...base, next: 'RETRY', retryAt: verdict.at }
    : { ...base, next: 'DEAD', reason: verdict.reason }
}
