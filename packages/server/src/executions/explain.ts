/**
 * Why does it not run? Lists what blocks an execution in the order in which it would have to be removed, the first
 * thing first, in words for the person on call.
 */
import type { ExecutionState, Explanation } from '@carillon/contract'
import { builtInLabel, signalName } from '../domain/built-in-targets.ts'
import { outsideWorkerId } from '../domain/outside-worker.ts'
import { poolName } from '../domain/pool-key.ts'
import type { RunAbove } from '../store/dags/read-above.ts'
import type { ExecutionRecord } from '../store/executions/read.ts'
import type { Placement, ServingWorker } from '../store/executions/read-placement.ts'
import type { ToCome } from '../store/executions/read-to-come.ts'
import type { Quarantined } from '../store/quarantine/read.ts'
import { priorityOf } from '../store/rows.ts'
import { explainLimit } from './explain-limit.ts'
import { explainBlocked, explainSignal, explainStarted, howToRetry, type Reason } from './explain-run.ts'
import { listed, timeText } from './explain-words.ts'

export interface Surroundings {
  placement: Placement
  workers: ServingWorker[]
  ahead: { lane: number; above: number }
  /** Of a step, its run and those that it is inside of; of an execution that has started a run, that one first. */
  above: readonly RunAbove[]
  now: number
  /** A worker silent for this long gets no new work. */
  suspectMs: number
}

/** How far the queue before an execution is counted. */
export const countedAhead = 10_000

export function explainEnded(record: ExecutionRecord, above: readonly RunAbove[]): Explanation {
  const { executionId, jobId, history, state, reason, error, attempt } = record
  const why = [reason, error && `${error.name}: ${error.message}`].filter(Boolean).join(', ')
  const message = `it ended at ${timeText(record.finishedAt!)} as ${state}${why ? ` (${why})` : ''}, ${tries(attempt)}`
  const follows = history.some((entry) => entry.after !== undefined)
  const hint =
    above.length > 0 && state !== 'SUCCEEDED'
      ? { hint: howToRetry(above) }
      : follows && state === 'SKIPPED'
        ? { hint: `trigger its job with POST /v1/jobs/${jobId}/trigger if it is wanted after all` }
        : endHints[state]
  const reasons = [{ code: state, message, ...hint }]
  return { executionId, state, reasons, summary: summaryOf('It is over', reasons) }
}

export function explainToCome(executionId: string, coming: ToCome): Explanation {
  const reasons: Reason[] = []
  if (coming.paused) {
    const hint = `resume it with POST /v1/jobs/${executionId}/resume`
    reasons.push({ code: 'JOB_PAUSED', message: 'its job is paused', hint })
  }
  reasons.push({
    code: 'NOT_DUE',
    message: `it is not due until ${timeText(coming.due)}`,
    hint: 'wait, or trigger the job',
  })
  return { executionId, state: 'PENDING', reasons, summary: summaryOf('Not running yet', reasons) }
}

export function explainQuarantined(executionId: string, row: Quarantined): Explanation {
  const { quarantineId, call, code } = row
  const message = `it was quarantined at ${timeText(row.at)}, because ${call} failed on it: ${code}, ${row.message}`
  const hint = `fix the cause, then: carillon quarantine release ${quarantineId}, or discard it: carillon quarantine discard ${quarantineId}`
  const reasons = [{ code: 'QUARANTINED', message, hint }]
  return { executionId, state: 'PENDING', reasons, summary: summaryOf('Not running', reasons) }
}

export function explainUnfinished(record: ExecutionRecord, around: Surroundings): Explanation {
  const { executionId, state } = record
  const { placement } = around
  const reasons = placement.lease ? leased(record, around) : inTheWay(record, around)
  return { executionId, state, reasons, summary: summaryOf(placement.lease ? 'It runs' : 'Not running', reasons) }
}

function leased(record: ExecutionRecord, { placement, above, now, suspectMs }: Surroundings): Reason[] {
  const lease = placement.lease!
  const worker = `worker ${lease.worker ?? lease.workerId}`
  const reasons: Reason[] = []
  if (lease.cancelAt !== null) {
    const message = `it was cancelled at ${timeText(lease.cancelAt)}`
    reasons.push({ code: 'CANCELLING', message, hint: 'it loses its lease after the grace, whether it stops or not' })
  }
  if (record.handler === signalName) return [...reasons, explainSignal(lease, record)]
  if (lease.run) return [...reasons, ...explainStarted(lease.run, above)]
  if (lease.workerId === outsideWorkerId) {
    const message = `its handler deferred it after ${timeText(lease.leasedAt)}, and an external system will report its outcome`
    return [...reasons, { code: 'DEFERRED', message, hint: 'ask there; without a report it ends with its timeout' }]
  }
  if (lease.seenAt === null || now - lease.seenAt > suspectMs) {
    const heard =
      lease.seenAt === null ? 'is not known any more' : `sent its last heartbeat at ${timeText(lease.seenAt)}`
    const hint = 'check that machine; if it stays silent, the execution is taken from it and retried'
    reasons.push({ code: 'WORKER_SUSPECT', message: `${worker} holds it and ${heard}`, hint })
  }
  return [...reasons, { code: 'LEASED', message: `it is leased by ${worker} since ${timeText(lease.leasedAt)}` }]
}

function inTheWay(record: ExecutionRecord, around: Surroundings): Reason[] {
  const { jobId, state } = record
  const pool = poolName(record.pool)
  const { placement, now } = around
  if (placement.blocked) return explainBlocked(placement.blocked, jobId, around.above)
  const reasons: Reason[] = []
  if (placement.poolPaused) {
    const hint = `resume it with POST /v1/pools/${encodeURIComponent(pool)}/resume`
    reasons.push({ code: 'POOL_PAUSED', message: `the pool ${pool} is paused`, hint })
  }
  if (placement.backAt !== null && placement.backAt > now) {
    const cause =
      state === 'PENDING' ? 'it was handed back and is' : `attempt ${record.attempt} ${failed[state]}; it is`
    const code = state === 'PENDING' ? 'HANDED_BACK' : 'RETRY_LATER'
    reasons.push({
      code,
      message: `${cause} not due until ${timeText(placement.backAt)}`,
      hint: 'wait, or fix the cause',
    })
  }
  if (placement.waits) {
    const holders = placement.holders.map((h) => (h.worker ? `${h.executionId} on ${h.worker}` : h.executionId))
    const message = `the job’s overlap policy ${placement.overlap ?? ''} lets it wait for ${holders.join(', ') || 'another one'}`
    reasons.push({ code: 'OVERLAP', message, hint: 'wait for that one to end, or cancel it' })
  }
  if (placement.limit) reasons.push(explainLimit(placement.limit, now))
  reasons.push(...ofWorkers(record, around))
  if (reasons.length === 0) reasons.push(onItsWay(around))
  if (placement.jobState === 'PAUSED') {
    const message = 'its job is paused, which holds back only what is still to come'
    reasons.push({ code: 'JOB_PAUSED', message, hint: `resume it with POST /v1/jobs/${jobId}/resume` })
  }
  return reasons
}

/** A worker must serve the pool, be live, know the handler and have a free slot. */
function ofWorkers({ pool: key, handler, lane }: ExecutionRecord, around: Surroundings): Reason[] {
  const pool = poolName(key)
  const { workers, now, suspectMs, ahead } = around
  const live = workers.filter((worker) => now - worker.seenAt <= suspectMs)
  const names = (some: ServingWorker[]) => listed(some.map((worker) => worker.name))
  const builtIn = builtInLabel(pool)
  if (builtIn !== null && live.length === 0) {
    const message = `no live node runs ${builtIn} targets`
    return [{ code: 'NO_LIVE_WORKER', message, hint: 'start a node whose operator allows them' }]
  }
  if (workers.length === 0) {
    const hint = `start a worker that serves ${pool}`
    return [{ code: 'NO_LIVE_WORKER', message: `no worker serves the pool ${pool}`, hint }]
  }
  if (live.length === 0) {
    const message = `all workers of the pool ${pool} are silent: ${names(workers)}`
    return [{ code: 'NO_LIVE_WORKER', message, hint: 'check those machines, or start another worker' }]
  }
  if (!live.some((worker) => worker.knowsHandler)) {
    const message = `no live worker of the pool ${pool} has the handler ${handler} (live: ${names(live)})`
    return [{ code: 'NO_HANDLER', message, hint: 'deploy a worker with that handler, or correct the name in the job' }]
  }
  const slots = live.reduce((sum, worker) => sum + worker.slots, 0)
  const running = live.reduce((sum, worker) => sum + worker.running, 0)
  if (running < slots && ahead.lane + ahead.above === 0) return []
  const before = `${counted(ahead.lane)} before it in the lane ${priorityOf(lane)} and ${counted(ahead.above)} in higher ones`
  if (running >= slots) {
    const message = `all ${slots} slots of the pool ${pool} are taken (${running} running), ${before}`
    return [{ code: 'NO_FREE_SLOT', message, hint: 'wait, or start more workers' }]
  }
  return [{ code: 'IN_QUEUE', message: `it is in the queue, ${before}`, hint: 'wait, or start more workers' }]
}

function onItsWay({ placement }: Surroundings): Reason {
  const message = placement.queued ? 'it is ready, nothing is in its way' : 'it is on its way into the queue'
  return { code: 'READY', message, hint: 'ask again in a moment' }
}

const failed: Partial<Record<ExecutionState, string>> = {
  FAILED: 'failed',
  TIMED_OUT: 'took too long',
  WORKER_LOST: 'was lost with its worker',
}

const endHints: Partial<Record<ExecutionState, { hint: string }>> = {
  DEAD: { hint: 'fix the cause, then replay it with POST /v1/executions/{id}/retry' },
  CANCELLED: { hint: 'replay it with POST /v1/executions/{id}/retry if it is wanted after all' },
  SKIPPED: { hint: 'run it with POST /v1/jobs/{id}/backfill and includeSkipped if it is wanted after all' },
}

function summaryOf(opening: string, reasons: Reason[]): string {
  const { message, hint } = reasons[0]!
  return `${opening}: ${message}${hint ? ` (${hint})` : ''}.`
}

function counted(count: number): string {
  return count >= countedAhead ? `${countedAhead} or more` : String(count)
}

function tries(attempt: number): string {
  if (attempt === 0) return 'without having started'
  return `after ${attempt} attempt${attempt === 1 ? '' : 's'}`
}
