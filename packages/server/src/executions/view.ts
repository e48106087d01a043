/** An execution as people and programs see it. As JSON it is the contract's `Execution`. */
import type { Execution, Timed, TimelineEntry } from '@carillon/contract'
import { isEnd } from '../domain/execution-state.ts'
import { poolName } from '../domain/pool-key.ts'
import { isoTime } from '../lib/iso-time.ts'
import type { ExecutionRecord, HistoryEntry } from '../store/executions/read.ts'
import { policyOf, priorityOf } from '../store/rows.ts'

type Instants = 'scheduledFor' | 'dueAt' | 'firedAt' | 'startedAt' | 'finishedAt'
type EntryView<Time> = Timed<TimelineEntry, 'at' | 'startedAt', Time>

export interface ExecutionView<Time = Date> extends Timed<Omit<Execution, 'attempts' | 'timeline'>, Instants, Time> {
  /** Attempts that did not succeed, oldest first. */
  attempts: EntryView<Time>[]
  timeline: EntryView<Time>[]
}

type Opaque = 'payload' | 'progress' | 'result'

export function viewOf(record: ExecutionRecord): ExecutionView {
  return {
    ...frameOf(record, (ms) => new Date(ms)),
    payload: parse(record.payload),
    progress: parse(record.progress),
    result: parse(record.result),
  }
}

/**
 * The same as JSON. What users sent is copied as it is stored: to the letter, and without being read. Times are texts before
 * they come to JSON.stringify, which is slow with objects that have a form of their own. [m] 10 % of a status read.
 */
export function jsonOf(record: ExecutionRecord): string {
  const frame = JSON.stringify(frameOf(record, isoTime))
  const { payload, progress, result } = record
  return `${frame.slice(0, -1)},"payload":${payload ?? 'null'},"progress":${progress ?? 'null'},"result":${result ?? 'null'}}`
}

function frameOf<Time>(record: ExecutionRecord, time: (ms: number) => Time): Omit<ExecutionView<Time>, Opaque> {
  const { startedAt, finishedAt } = record
  const { limits, retryPolicy } = policyOf(record.policy)
  const dated = ({ at, startedAt: began, ...rest }: HistoryEntry): EntryView<Time> => ({
    ...rest,
    at: time(at),
    ...(began !== undefined && { startedAt: time(began) }),
  })
  return {
    executionId: record.executionId,
    jobId: record.jobId,
    jobVersion: record.jobVersion,
    dagRunId: record.origin === 'DAG' ? record.jobId : null,
    name: record.name,
    tenant: record.tenant,
    pool: poolName(record.pool),
    priority: priorityOf(record.lane),
    handler: record.handler,
    origin: record.origin,
    scheduledFor: time(record.scheduledFor),
    dueAt: time(record.dueAt),
    firedAt: time(record.firedAt),
    startedAt: startedAt === null ? null : time(startedAt),
    finishedAt: finishedAt === null ? null : time(finishedAt),
    durationMs: startedAt === null || finishedAt === null ? null : Math.max(0, finishedAt - startedAt),
    latenessMs: latenessOf(record),
    state: record.state,
    reason: record.reason,
    attempt: record.attempt,
    limits,
    maxAttempts: retryPolicy.maxAttempts,
    workerId: record.workerId,
    fence: record.fence,
    error: record.error,
    labels: record.labels,
    traceId: traceIdOf(record.traceparent),
    skippedCount: record.skippedCount,
    attempts: record.history.filter((entry) => entry.attempt !== undefined && entry.to !== 'HANDED_BACK').map(dated),
    timeline: timelineOf(record).map(dated),
  }
}

/** Of the first attempt: what retries, backoff and replays added is not lateness. What was only handed back never started. */
function latenessOf({ history, attempt, startedAt, dueAt }: ExecutionRecord): number | null {
  const first = history.find((entry) => entry.attempt !== undefined && entry.to !== 'HANDED_BACK')
  const began = first?.startedAt ?? (attempt === 0 ? null : startedAt)
  return began === null ? null : began - dueAt
}

/** The history holds what is out of the ordinary; birth, the run under way and the end follow from the ledger row. */
function timelineOf(record: ExecutionRecord): HistoryEntry[] {
  const { state, reason, firedAt, startedAt, finishedAt, attempt, fence, workerId } = record
  const history = record.history.filter(({ said }) => said === undefined)
  const first = history[0]
  const hasBirth = first !== undefined && first.at === firedAt && (first.to === 'SKIPPED' || first.after !== undefined)
  const bornEnded = history.length === 0 && finishedAt === firedAt && state !== 'SUCCEEDED'
  const timeline = hasBirth || bornEnded ? [...history] : [...births(record), ...history]
  const held = { attempt, ...(fence !== null && { fence }), ...(workerId !== null && { workerId }) }
  if (state === 'RUNNING' || state === 'SUCCEEDED') {
    const last = timeline.at(-1)
    const handedOver = last?.to === 'DEFERRED' && last.fence === fence
    timeline.splice(handedOver ? -1 : timeline.length, 0, { at: startedAt!, to: 'RUNNING', ...held })
  }
  if (isEnd(state) && timeline.at(-1)?.to !== state) {
    timeline.push({ at: finishedAt!, to: state, ...(reason !== null && { reason }) })
  }
  return timeline
}

/** Of a W3C trace context: version, trace id, parent id, flags. */
export function traceIdOf(traceparent: string | null): string | null {
  return traceparent?.match(/^[0-9a-f]{2}-([0-9a-f]{32})-/)?.[1] ?? null
}

function parse(json: string | null): unknown {
  return json === null ? null : JSON.parse(json)
}

/** A step is born BLOCKED, and due when the steps it depends on have ended. */
function births({ origin, firedAt, scheduledFor, dueAt }: ExecutionRecord): HistoryEntry[] {
  if (origin !== 'DAG') return [{ at: firedAt, to: 'PENDING' }]
  const blocked = { at: firedAt, to: 'BLOCKED' }
  return dueAt === scheduledFor ? [blocked] : [blocked, { at: dueAt, to: 'PENDING' }]
}
