/** An execution as people and programs see it. */
import { defaults, type Origin, type Priority } from '@carillon/contract'
import type { ExecutionState } from '../domain/execution-state.ts'
import type { ExecutionRecord, HistoryEntry } from '../store/executions/read.ts'
import { priorityOf } from '../store/rows.ts'

export interface ExecutionView {
  executionId: string
  jobId: string
  jobVersion: number | null
  tenant: string
  pool: string
  priority: Priority
  handler: string
  origin: Origin
  scheduledFor: Date
  dueAt: Date
  firedAt: Date
  startedAt: Date | null
  finishedAt: Date | null
  durationMs: number | null
  /** From due to started. */
  latenessMs: number | null
  state: ExecutionState
  reason: string | null
  attempt: number
  workerId: string | null
  fence: number | null
  payload: unknown
  progress: unknown
  result: unknown
  error: { name: string; message: string; stack?: string } | null
  log: string
  labels: Record<string, string>
  skippedCount: number | null
  /** Attempts that did not succeed, oldest first. */
  attempts: HistoryEntry[]
  timeline: HistoryEntry[]
}

export function viewOf(record: ExecutionRecord): ExecutionView {
  const { startedAt, finishedAt } = record
  const timeline: HistoryEntry[] = [
    { at: record.firedAt, to: record.state === 'SKIPPED' ? 'SKIPPED' : 'PENDING' },
    ...record.history,
  ]
  if (record.state === 'SUCCEEDED') {
    timeline.push({ at: startedAt!, to: 'RUNNING', attempt: record.attempt }, { at: finishedAt!, to: 'SUCCEEDED' })
  }
  return {
    executionId: record.executionId,
    jobId: record.jobId,
    jobVersion: record.jobVersion,
    tenant: record.tenant ?? defaults.tenant,
    pool: record.pool,
    priority: priorityOf(record.lane),
    handler: record.handler,
    origin: record.origin,
    scheduledFor: new Date(record.scheduledFor),
    dueAt: new Date(record.dueAt),
    firedAt: new Date(record.firedAt),
    startedAt: startedAt === null ? null : new Date(startedAt),
    finishedAt: finishedAt === null ? null : new Date(finishedAt),
    durationMs: startedAt === null || finishedAt === null ? null : Math.max(0, finishedAt - startedAt),
    latenessMs: startedAt === null ? null : startedAt - record.dueAt,
    state: record.state,
    reason: record.reason,
    attempt: record.attempt,
    workerId: record.workerId,
    fence: record.fence,
    payload: parse(record.payload),
    progress: parse(record.progress),
    result: parse(record.result),
    error: record.error,
    log: record.log ?? '',
    labels: record.labels,
    skippedCount: record.skippedCount,
    attempts: record.history.filter((entry) => entry.attempt !== undefined && entry.to !== 'HANDED_BACK'),
    timeline,
  }
}

function parse(json: string | null): unknown {
  return json === null ? null : JSON.parse(json)
}
