/** Graphs and runs as JSON: the contract's `Dag`, `DagRunSummary` and `DagRun`. What users sent is copied as it is stored. */
import type { Dag, DagRun, DagRunStep, DagRunSummary } from '@carillon/contract'
import { traceIdOf } from '../executions/view.ts'
import { isoTime } from '../lib/iso-time.ts'
import type { DagRecord } from '../store/dags/definitions.ts'
import type { DagRunRecord, DagRunStepRecord } from './runs.ts'

export function dagJsonOf(dag: DagRecord): string {
  const { dagId, key, name, tenant, managedBy, labels, state, version, deadlineSec } = dag
  const frame: Omit<Dag, 'steps'> = {
    ...{ dagId, key, name, tenant, managedBy, labels: labels ?? {}, state, version, deadlineSec },
    createdAt: isoTime(dag.createdAt),
    updatedAt: isoTime(dag.updatedAt),
  }
  return `${JSON.stringify(frame).slice(0, -1)},"steps":${dag.steps}}`
}

export function runSummaryOf(run: DagRunRecord): DagRunSummary {
  const { runId, dagId, dagVersion, name, tenant, labels, state, paused, reason } = run
  const { stepCount, doneCount, failedCount, createdAt, finishedAt, deadlineAt, traceparent, startedBy, fanOut } = run
  return {
    ...{ runId, dagId, dagVersion, name, tenant, labels, state, paused, reason, stepCount, doneCount, failedCount },
    createdAt: isoTime(createdAt),
    finishedAt: timeOf(finishedAt),
    deadlineAt: timeOf(deadlineAt),
    traceId: traceIdOf(traceparent),
    startedBy,
    fanOut,
  }
}

export function runJsonOf(run: DagRunRecord, steps: readonly DagRunStepRecord[]): string {
  const frame: Omit<DagRun, 'payload'> = { ...runSummaryOf(run), steps: steps.map(stepOf) }
  return `${JSON.stringify(frame).slice(0, -1)},"payload":${run.payload ?? 'null'}}`
}

function stepOf({ startedAt, finishedAt, ...step }: DagRunStepRecord): DagRunStep {
  return { ...step, startedAt: timeOf(startedAt), finishedAt: timeOf(finishedAt) }
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms)
}
