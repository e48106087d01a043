/** Execution policies: checked, and reduced to what differs from the defaults. */
import {
  backoffs,
  defaults,
  deliveries,
  type ExecutionPolicy,
  limits,
  priorities,
  type RetryPolicy,
} from '@carillon/contract'
import type { StoredPolicy } from '../store/rows.ts'
import type { Problems } from './validate.ts'

const yearSec = 366 * 86_400
const yearMs = yearSec * 1_000
const known = {
  ...{ maxAttempts: true, backoff: true, initialDelayMs: true, factor: true, maxDelayMs: true, jitter: true },
  ...{ delaysMs: true, nonRetryableErrors: true },
} satisfies Record<keyof RetryPolicy, true>
const retryKeys = Object.keys(known)

export function checkPolicy(problems: Problems, input: ExecutionPolicy): void {
  problems.oneOf('/priority', input.priority, priorities)
  problems.oneOf('/delivery', input.delivery, deliveries)
  problems.number('/timeoutSec', input.timeoutSec, { min: 0.001, max: yearSec })
  problems.integer('/deadlineSec', input.deadlineSec, { min: 1, max: yearSec })
  problems.integer('/heartbeatTimeoutSec', input.heartbeatTimeoutSec, { min: 1, max: yearSec })
  problems.integer('/startWithinSec', input.startWithinSec, { min: 1, max: yearSec })
  problems.integer('/cancelGraceSec', input.cancelGraceSec, { min: 0, max: 3_600 })
  problems.integer('/unknownHandlerSec', input.unknownHandlerSec, { min: 0, max: yearSec })
  problems.labels('/labels', input.labels, limits.labels)
  if (input.traceparent !== undefined) problems.text('/traceparent', input.traceparent, 100)
  const retry = input.retryPolicy
  if (!problems.object('/retryPolicy', retry)) return
  for (const key of Object.keys(retry)) {
    if (!retryKeys.includes(key)) problems.add(`/retryPolicy/${key}`, 'is not known', `Use ${retryKeys.join(', ')}`)
  }
  problems.integer('/retryPolicy/maxAttempts', retry.maxAttempts, { min: 1, max: 10_000 })
  problems.oneOf('/retryPolicy/backoff', retry.backoff, backoffs)
  problems.integer('/retryPolicy/initialDelayMs', retry.initialDelayMs, { min: 0, max: yearMs })
  problems.number('/retryPolicy/factor', retry.factor, { min: 1, max: 100 })
  problems.integer('/retryPolicy/maxDelayMs', retry.maxDelayMs, { min: 0, max: yearMs })
  problems.number('/retryPolicy/jitter', retry.jitter, { min: 0, max: 1 })
  for (const [i, delay] of problems.list('/retryPolicy/delaysMs', retry.delaysMs).entries()) {
    problems.integer(`/retryPolicy/delaysMs/${i}`, delay ?? null, { min: 0, max: yearMs })
  }
  for (const [i, name] of problems.list('/retryPolicy/nonRetryableErrors', retry.nonRetryableErrors).entries()) {
    problems.text(`/retryPolicy/nonRetryableErrors/${i}`, name, limits.nameLength)
  }
}

/** Null when every policy is the default: then nothing is stored. */
export function storedPolicy(input: ExecutionPolicy): StoredPolicy | null {
  const stored: StoredPolicy = {}
  if (input.timeoutSec !== undefined && input.timeoutSec !== defaults.timeoutSec) stored.timeoutSec = input.timeoutSec
  if (input.heartbeatTimeoutSec !== undefined) stored.heartbeatTimeoutSec = input.heartbeatTimeoutSec
  if (input.startWithinSec !== undefined) stored.startWithinSec = input.startWithinSec
  if (input.deadlineSec !== undefined) stored.deadlineSec = input.deadlineSec
  if (input.delivery !== undefined && input.delivery !== defaults.delivery) stored.delivery = input.delivery
  if (input.cancelGraceSec !== undefined) stored.cancelGraceSec = input.cancelGraceSec
  if (input.unknownHandlerSec !== undefined) stored.unknownHandlerSec = input.unknownHandlerSec
  const retry = Object.fromEntries(Object.entries(input.retryPolicy ?? {}).filter(([, value]) => value !== undefined))
  if (Object.keys(retry).length > 0) stored.retryPolicy = retry
  return Object.keys(stored).length > 0 ? stored : null
}
