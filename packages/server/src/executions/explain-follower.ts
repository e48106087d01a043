/** When does a job of type AFTER run? It has no times of its own: what it follows and when that last ended says it. */
import type { Explanation, FollowedEnd } from '@carillon/contract'
import type { LastEnd } from '../store/executions/read-last-end.ts'
import type { JobRecord } from '../store/rows.ts'
import type { Reason } from './explain-run.ts'
import { timeText } from './explain-words.ts'

export function explainFollower(
  { definition, state }: JobRecord,
  /** Null: it is not there. */
  followed: { last: LastEnd | null } | null,
): Explanation {
  const { jobId } = definition
  const { job } = definition.after!
  const reasons: Reason[] = []
  if (state === 'PAUSED') {
    const message = 'it is paused: what it would follow is on record as SKIPPED'
    reasons.push({ code: 'JOB_PAUSED', message, hint: `resume it with POST /v1/jobs/${jobId}/resume` })
  }
  if (followed === null) {
    const message = `it follows the job ${job}, which is not there`
    reasons.push({ code: 'FOLLOWED_GONE', message, hint: 'create that one again, or let this one follow another' })
  } else reasons.push(follows(definition, followed.last))
  return {
    executionId: jobId,
    state: 'PENDING',
    reasons,
    summary: `A job of type AFTER: ${reasons.map(({ message }) => message).join('; ')}.`,
  }
}

const ended: Record<FollowedEnd, string> = {
  SUCCEEDED: 'has SUCCEEDED',
  FAILED: 'has ended as DEAD or CANCELLED',
  ENDED: 'has ended',
}

function follows({ jobId, after }: JobRecord['definition'], last: LastEnd | null): Reason {
  const { job, on } = after!
  const runs = `it runs each time an execution of the job ${job} ${ended[on]}`
  if (last === null)
    return { code: 'FOLLOWS', message: `${runs}; none has ended yet`, hint: 'wait, or trigger this one' }
  const { executionId, state, finishedAt } = last
  const message = `${runs}; the last one, ${executionId}, ended at ${timeText(finishedAt)} as ${state}`
  const matches = on === 'ENDED' || (state === 'SUCCEEDED') === (on === 'SUCCEEDED')
  const hint = matches
    ? `see what followed it with GET /v1/executions?jobId=${jobId}`
    : `that is not what it follows: after.on is ${on}; ENDED would follow every end`
  return { code: 'FOLLOWS', message, hint }
}
