/** Why does it not run? What concerns steps of runs, and executions that stand for a run. */
import type { Explanation } from '@carillon/contract'
import type { RunAbove } from '../store/dags/read-above.ts'
import type { ExecutionRecord } from '../store/executions/read.ts'
import type { Placement } from '../store/executions/read-placement.ts'
import { listed, timeText } from './explain-words.ts'

export type Reason = Explanation['reasons'][number]

/** A step that waits for others, for a slot, or for its run. `above`: its run and those that it is inside of. */
export function explainBlocked(
  { remaining, total, steps, held, runPaused, queued, slots, active }: NonNullable<Placement['blocked']>,
  runId: string,
  above: readonly RunAbove[],
): Reason[] {
  const reasons: Reason[] = []
  if (remaining > 0) {
    const message = `it waits for ${listed(steps)}: ${total - remaining} of the ${total} steps it depends on have ended`
    reasons.push({ code: 'WAITS_FOR_STEPS', message, hint: 'explain those' })
  }
  if (runPaused) reasons.push(pausedRun(above))
  else if (held) {
    const message = 'it could not be made ready; the log of the node that tried says why'
    const hint = `remove the cause, then try again with POST /v1/dag-runs/${runId}/resume`
    reasons.push({ code: 'HELD_BACK', message, hint })
  }
  if (reasons.length > 0) return reasons
  if (queued && slots !== null && active >= slots) {
    const message = `its step may have ${slots} items ready or running at once, and has ${active}`
    return [
      { code: 'WAITS_FOR_SLOT', message, hint: 'wait for one of those to end; concurrency of the step says how many' },
    ]
  }
  return [{ code: 'READY', message: 'it is about to become ready', hint: 'ask again in a moment' }]
}

/** A pause holds for the runs inside: it is ended where it began. `own`: how the innermost is called. */
function pausedRun(above: readonly RunAbove[], own = 'its run'): Reason {
  const { runId, place } = above.reduce(
    (outermost, { runId, paused }, place) => (paused ? { runId, place } : outermost),
    { runId: above[0]?.runId ?? '', place: 0 },
  )
  const message = place === 0 ? `${own} is paused` : `the run ${runId}, which ${own} is part of, is paused`
  return { code: 'RUN_PAUSED', message, hint: `resume it with POST /v1/dag-runs/${runId}/resume` }
}

type Lease = NonNullable<Placement['lease']>

export function explainSignal({ leasedAt, overdueAt }: Lease, { jobId, name }: ExecutionRecord): Reason {
  const until = overdueAt === null ? '' : `, until ${timeText(overdueAt)}; then it is DEAD`
  return {
    code: 'WAITS_FOR_SIGNAL',
    message: `it waits for a signal since ${timeText(leasedAt)}${until}`,
    hint: `signal it with POST /v1/dag-runs/${jobId}/steps/${name}/signal, or: carillon dag-runs signal ${jobId} ${name}`,
  }
}

/** An execution waits for the run that it has started. */
export function explainStarted(run: NonNullable<Lease['run']>, above: readonly RunAbove[]): Reason[] {
  const { runId, stepCount, doneCount, failedCount, fanOut, paused } = run
  const message = fanOut
    ? `it waits for its items, the run ${runId}: ${doneCount} of ${stepCount} have ended, ${failedCount} failed`
    : `it waits for the run ${runId}: ${doneCount} of ${stepCount} steps have ended, ${failedCount} failed`
  const waits = { code: 'WAITS_FOR_RUN', message, hint: `look at it with GET /v1/dag-runs/${runId}` }
  return paused ? [waits, pausedRun(above, 'that run')] : [waits]
}

/** A run that an execution has started is retried with that: by its own run, or by itself. */
export function howToRetry(above: readonly RunAbove[]): string {
  const { runId, startedBy } = above.at(-1)!
  return startedBy === null
    ? `retry its run with POST /v1/dag-runs/${runId}/retry if it is wanted after all`
    : `retry what has started its run with POST /v1/executions/${startedBy}/retry if it is wanted after all`
}
