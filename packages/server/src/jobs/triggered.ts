import { submissionId } from '../domain/identity.ts'
import type { ExecutionRecord } from '../store/executions/read.ts'
import type { JobRecord } from '../store/rows.ts'

/** The execution that a trigger makes, as it will stand in the ledger; see functions/jobs/trigger_job.sql. */
export function triggeredExecution(
  { definition, version }: JobRecord,
  { at, payload, traceparent }: { at: number; payload: string | null; traceparent: string | null },
): ExecutionRecord {
  const recurring = !(definition.type === 'ONE_SHOT' || definition.type === 'DELAYED')
  return {
    executionId: submissionId(at),
    jobId: definition.jobId,
    jobVersion: recurring ? version : null,
    name: definition.name,
    tenant: definition.tenant,
    pool: definition.pool,
    lane: definition.lane,
    handler: definition.handler,
    origin: 'TRIGGER',
    scheduledFor: at,
    dueAt: at,
    firedAt: at,
    startedAt: null,
    finishedAt: null,
    state: 'PENDING',
    reason: null,
    attempt: 0,
    workerId: null,
    fence: null,
    progress: null,
    result: null,
    payload: payload ?? definition.payload,
    error: null,
    policy: definition.policy,
    labels: definition.labels ?? {},
    traceparent,
    skippedCount: null,
    history: [],
  }
}
