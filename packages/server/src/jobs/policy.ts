/** Execution policies: checked, and reduced to what differs from the defaults. */
import {
  backoffs,
  defaults,
  deliveries,
  type ExecutionPolicy,
  limits,
  policyOfRuns,
  priorities,
  ranges,
  retryPolicyFields,
} from '@carillon/contract'
import type { StoredPolicy } from '../store/rows.ts'
import { limitKeys, limitProblem } from './limit-keys.ts'
import { builtInOf, type Target } from './target.ts'
import type { Problems } from './validate.ts'

export function checkPolicy(problems: Problems, input: ExecutionPolicy): void {
  problems.oneOf('/priority', input.priority, priorities)
  problems.oneOf('/delivery', input.delivery, deliveries)
  problems.number('/timeoutSec', input.timeoutSec, ranges.timeoutSec)
  problems.integer('/deadlineSec', input.deadlineSec, ranges.deadlineSec)
  problems.integer('/heartbeatTimeoutSec', input.heartbeatTimeoutSec, ranges.heartbeatTimeoutSec)
  problems.integer('/startWithinSec', input.startWithinSec, ranges.startWithinSec)
  problems.integer('/cancelGraceSec', input.cancelGraceSec, ranges.cancelGraceSec)
  problems.integer('/unknownHandlerSec', input.unknownHandlerSec, ranges.unknownHandlerSec)
  checkLimits(problems, input.limits)
  problems.labels('/labels', input.labels, limits.labels)
  if (input.traceparent !== undefined) problems.text('/traceparent', input.traceparent, 100)
  const retry = input.retryPolicy
  if (!problems.object('/retryPolicy', retry)) return
  problems.unknown('/retryPolicy', retry, retryPolicyFields)
  problems.integer('/retryPolicy/maxAttempts', retry.maxAttempts, ranges.maxAttempts)
  problems.oneOf('/retryPolicy/backoff', retry.backoff, backoffs)
  problems.integer('/retryPolicy/initialDelayMs', retry.initialDelayMs, ranges.initialDelayMs)
  problems.number('/retryPolicy/factor', retry.factor, ranges.factor)
  problems.integer('/retryPolicy/maxDelayMs', retry.maxDelayMs, ranges.maxDelayMs)
  problems.number('/retryPolicy/jitter', retry.jitter, ranges.jitter)
  for (const [i, delay] of problems.list('/retryPolicy/delaysMs', retry.delaysMs).entries()) {
    problems.integer(`/retryPolicy/delaysMs/${i}`, delay ?? null, ranges.delaysMs)
  }
  for (const [i, name] of problems.list('/retryPolicy/nonRetryableErrors', retry.nonRetryableErrors).entries()) {
    problems.text(`/retryPolicy/nonRetryableErrors/${i}`, name, limits.nameLength)
  }
}

function checkLimits(problems: Problems, asked: unknown): void {
  if (asked === undefined) return
  const list = problems.list('/limits', asked)
  if (list.length > limits.limitsNamed)
    problems.add('/limits', `limits has ${list.length} entries`, `Give at most ${limits.limitsNamed}`)
  for (const [i, each] of list.entries()) {
    problems.text(`/limits/${i}`, each, limits.limitLength)
    if (typeof each !== 'string' || each === '') continue
    const problem = limitProblem(each)
    if (problem) problems.add(`/limits/${i}`, problem.message, problem.hint)
  }
}

/** What limits name of the payload is known from here on. Throws VALIDATION if it is not there. */
export function withLimitKeys(policy: StoredPolicy | null, payload: string | null): StoredPolicy | null {
  return policy?.limits === undefined ? policy : { ...policy, limitKeys: limitKeys(policy.limits, payload) }
}

/** Null when every policy is the default: then nothing is stored. */
export function storedPolicy(
  asked: ExecutionPolicy & { pauseAfterFailures?: number },
  target?: Target,
): StoredPolicy | null {
  const input = target?.dag === undefined ? asked : policyOfRuns(asked)
  const stored: StoredPolicy = {}
  const builtIn = target && builtInOf(target)
  if (builtIn) stored.target = builtIn
  if (input.pauseAfterFailures !== undefined) stored.pauseAfterFailures = input.pauseAfterFailures
  if (input.timeoutSec !== undefined && input.timeoutSec !== defaults.timeoutSec) stored.timeoutSec = input.timeoutSec
  if (input.heartbeatTimeoutSec !== undefined) stored.heartbeatTimeoutSec = input.heartbeatTimeoutSec
  if (input.startWithinSec !== undefined) stored.startWithinSec = input.startWithinSec
  if (input.deadlineSec !== undefined) stored.deadlineSec = input.deadlineSec
  if (input.delivery !== undefined && input.delivery !== defaults.delivery) stored.delivery = input.delivery
  if (input.cancelGraceSec !== undefined) stored.cancelGraceSec = input.cancelGraceSec
  if (input.unknownHandlerSec !== undefined) stored.unknownHandlerSec = input.unknownHandlerSec
  if (input.limits !== undefined && input.limits.length > 0) stored.limits = input.limits
  const retry = Object.fromEntries(Object.entries(input.retryPolicy ?? {}).filter(([, value]) => value !== undefined))
  if (Object.keys(retry).length > 0) stored.retryPolicy = retry
  return Object.keys(stored).length > 0 ? stored : null
}
