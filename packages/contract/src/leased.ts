/**
 * Leased executions with `Prefer: return=minimal`: members that have their defaults are left out. The database keeps executions that are
 * ready in this form, and the SDK asks for it.
 */
import { defaults } from './defaults.ts'
import type { LeasedExecution } from './schemas/worker.ts'

type Always = 'executionId' | 'handler' | 'fence' | 'scheduledFor'
export type MinimalExecution = Pick<LeasedExecution, Always> & Partial<LeasedExecution>

export function completeLeased(minimal: MinimalExecution): LeasedExecution {
  const { executionId, scheduledFor, handler, fence } = minimal
  return {
    executionId,
    jobId: minimal.jobId ?? executionId,
    tenant: minimal.tenant ?? defaults.tenant,
    pool: minimal.pool ?? defaults.pool,
    handler,
    attempt: minimal.attempt ?? 1,
    maxAttempts: minimal.maxAttempts ?? defaults.retryPolicy.maxAttempts,
    fence,
    scheduledFor,
    dueAt: minimal.dueAt ?? scheduledFor,
    timeoutSec: minimal.timeoutSec ?? defaults.timeoutSec,
    deadlineAt: minimal.deadlineAt ?? null,
    heartbeatTimeoutSec: minimal.heartbeatTimeoutSec ?? null,
    cancelGraceSec: minimal.cancelGraceSec ?? defaults.cancelGraceSec,
    announceStart: minimal.announceStart ?? false,
    payload: minimal.payload ?? null,
    lastProgress: minimal.lastProgress ?? null,
    labels: minimal.labels ?? {},
    traceparent: minimal.traceparent ?? null,
    target: minimal.target ?? null,
    dag: minimal.dag ?? null,
  }
}
