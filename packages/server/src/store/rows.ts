/** What rows of several tables have in common, in the words of the domain: policies, lanes, times, queued work. */
import {
  type BuiltInTarget,
  defaults,
  type Job,
  type JobState,
  type Priority,
  priorities,
  type Range,
  type RetryPolicy,
  ranges,
  type WireJobInput,
} from '@carillon/contract'
import { isoTime } from '../lib/iso-time.ts'
import type { JobDefinition } from './jobs/definition.ts'

/** Policies as stored: only what differs from the defaults. */
export type StoredPolicy = Pick<
  WireJobInput,
  | ('retryPolicy' | 'timeoutSec' | 'heartbeatTimeoutSec' | 'startWithinSec' | 'deadlineSec' | 'delivery')
  | ('cancelGraceSec' | 'unknownHandlerSec' | 'pauseAfterFailures' | 'limits')
> & {
  /** `limits` with what the payload has in place of the placeholders, each once. */
  limitKeys?: string[]
  /** The settings of a built-in target. */
  target?: BuiltInTarget
  /** The job says no jitter: it has that of its tenant, as it was when the schedule was defined. */
  jitterBy?: 'TENANT'
}

/** Policies as used. */
export type Policy = Pick<
  Job,
  | ('retryPolicy' | 'timeoutSec' | 'heartbeatTimeoutSec' | 'delivery')
  | ('cancelGraceSec' | 'unknownHandlerSec' | 'pauseAfterFailures' | 'limits')
>

/** Values out of range, written by hand, count as absent: a retry must come, but not at once for ever. */
export function policyOf(stored: StoredPolicy | null): Policy {
  const retry: Partial<RetryPolicy> = typeof stored?.retryPolicy === 'object' ? stored.retryPolicy : {}
  const usual = defaults.retryPolicy
  return {
    retryPolicy: {
      ...usual,
      ...retry,
      maxAttempts: within(ranges.maxAttempts, retry.maxAttempts) ?? usual.maxAttempts,
      initialDelayMs: within(ranges.initialDelayMs, retry.initialDelayMs) ?? usual.initialDelayMs,
      factor: within(ranges.factor, retry.factor) ?? usual.factor,
      maxDelayMs: within(ranges.maxDelayMs, retry.maxDelayMs) ?? usual.maxDelayMs,
      jitter: within(ranges.jitter, retry.jitter) ?? usual.jitter,
      ...(retry.delaysMs !== undefined && { delaysMs: listWithin(ranges.delaysMs, retry.delaysMs) }),
      ...(retry.nonRetryableErrors !== undefined && { nonRetryableErrors: listOf(retry.nonRetryableErrors) }),
    },
    timeoutSec: within(ranges.timeoutSec, stored?.timeoutSec) ?? defaults.timeoutSec,
    heartbeatTimeoutSec: within(ranges.heartbeatTimeoutSec, stored?.heartbeatTimeoutSec),
    delivery: stored?.delivery ?? defaults.delivery,
    cancelGraceSec: within(ranges.cancelGraceSec, stored?.cancelGraceSec) ?? defaults.cancelGraceSec,
    unknownHandlerSec: within(ranges.unknownHandlerSec, stored?.unknownHandlerSec) ?? defaults.unknownHandlerSec,
    pauseAfterFailures: within(ranges.pauseAfterFailures, stored?.pauseAfterFailures),
    limits: listOf(stored?.limits),
  }
}

function within({ min, max }: Range, value: unknown): number | null {
  return typeof value === 'number' && value >= min && value <= max ? value : null
}

function listOf<T>(value: readonly T[] | undefined): T[] {
  return Array.isArray(value) ? value : []
}

function listWithin(range: Range, value: readonly number[] | undefined): number[] | undefined {
  const delays = listOf(value).filter((delay) => within(range, delay) !== null)
  return delays.length > 0 ? delays : undefined
}

export function laneOf(priority: Priority): number {
  return priorities.indexOf(priority)
}

export function priorityOf(lane: number): Priority {
  return priorities[lane]!
}

/** A job: its definition, and the position of its schedule. Times in milliseconds. */
export interface JobRecord {
  definition: JobDefinition
  version: number
  state: JobState
  shard: number
  nominal: number | null
  due: number | null
  fires: number
  createdAt: number
  updatedAt: number
}

export function millis(iso: string | null): number | null {
  return iso === null ? null : Date.parse(iso)
}

export function iso(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : isoTime(ms)
}

/** Work that became ready, by pool and lane, with its smallest tag: what the hint carries. */
export interface QueuedWork {
  pool: string
  lane: number
  tag: number
  count: number
}

export function queuedOf(rows: [string, number, number, number][] | null): QueuedWork[] {
  return (rows ?? []).map(([pool, lane, tag, count]) => ({ pool, lane, tag, count }))
}
