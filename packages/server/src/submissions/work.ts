/** A request becomes either a submission, due now and written to the ledger at once, or a job. */
import type { JobInput } from '@carillon/contract'
import type { Submission } from '../store/executions/submit.ts'
import type { NewJob, NewTimedJob } from '../store/jobs/create.ts'
import { iso } from '../store/rows.ts'

/** Fields that only a job can have: with one of these it becomes a job even if it is due. */
const ofJobs = [
  ...(['key', 'managedBy', 'startAt', 'endAt', 'maxFires', 'jitterSec', 'overlap', 'pauseAfterFailures'] as const),
  ...(['misfire', 'misfireAfterSec', 'maxCatchUp', 'graceSec'] as const),
]

export function mayBeSubmission(input: JobInput): boolean {
  return (input.type === 'ONE_SHOT' || input.type === 'DELAYED') && ofJobs.every((field) => input[field] === undefined)
}

/** A clock reads fractions of a millisecond, a nominal time does not. */
export function isDue(job: NewJob, now: number): job is NewTimedJob {
  return job.nominal !== null && job.nominal < now + 1
}

/** The ledger knows no types: a submission is a one-shot, however it was asked for. */
export function asSubmission(job: NewTimedJob): NewTimedJob {
  const { definition, nominal } = job
  if (definition.type === 'ONE_SHOT') return job
  return {
    ...job,
    definition: { ...definition, type: 'ONE_SHOT', runAt: iso(nominal), runAtLocal: null, delayMs: null },
  }
}

export function submissionOf({ definition, nominal }: NewTimedJob, input: JobInput): Submission {
  return {
    executionId: definition.jobId,
    tenant: definition.tenant,
    name: input.name ?? null,
    pool: definition.pool,
    lane: definition.lane,
    handler: definition.handler,
    runAt: nominal,
    payload: definition.payload,
    policy: definition.policy,
    labels: definition.labels,
    traceparent: input.traceparent ?? null,
  }
}
