/**
 * Many at once, in one transaction: what is due now goes to the ledger, the rest among the jobs. All or none, unless those
 * that are wrong may be left out; then each of them is answered with its problem.
 */
import { CarillonError, type ErrorDetail, type JobInput, type JobState } from '@carillon/contract'
import { saysNoJitter } from '../jobs/define.ts'
import { requireKept } from '../jobs/kept.ts'
import { newJob } from '../jobs/new-job.ts'
import { placeCheck } from '../jobs/place-check.ts'
import { eventLoopYielder } from '../lib/event-loop-yielder.ts'
import { entryOf, type Once } from '../store/idempotency/answers.ts'
import type { NewJob, NewTimedJob } from '../store/jobs/create.ts'
import { wasTooSlow } from '../store/trouble.ts'
import type { Owner, SubmissionsOptions } from './submissions.ts'
import { isDue, mayBeSubmission, submissionOf } from './work.ts'

/** One that is asked for, or what was found wrong with it before. `payload` is JSON text. */
export type Wanted = { input: JobInput; payload: string | null } | { error: CarillonError }

export type BatchItem = { jobId: string; state: JobState; nextFireAt: number | null } | { error: CarillonError }

/** Fields that would find or create another job than the one asked for. */
const keys = ['key', 'dedupe'] as const

interface Made {
  input: JobInput
  job: NewJob
  /** The same, if it is due now. */
  due: NewTimedJob | null
}

/** Throws AnsweredBefore if the request was. */
export async function createBatch(
  options: SubmissionsOptions,
  owner: Owner,
  wanted: Wanted[],
  { partial, once }: { partial: boolean; once?: Once<BatchItem[]> },
): Promise<BatchItem[]> {
  const made = await makeAll(options, owner, wanted)
  if (!partial) refuseIfAny(made)
  const items = made.map((each): BatchItem => {
    if ('error' in each) return each
    const { job } = each
    return { jobId: job.definition.jobId, state: 'ACTIVE', nextFireAt: each.due ? null : job.due }
  })
  const good = made.filter((each): each is Made => !('error' in each))
  const work = async () =>
    options.submitter.create({
      actor: owner.actor,
      jobs: good.filter(({ due }) => due === null).map(({ job }) => job),
      submissions: good.flatMap(({ due, input }) => (due === null ? [] : [submissionOf(due, input)])),
      entry: await entryOf(once, items),
    })
  const { quotas } = options
  try {
    await (quotas === undefined ? work() : quotas.submit({ tenant: owner.tenant, count: good.length }, work))
  } catch (error) {
    if (!wasTooSlow(error)) throw error
    const details = { message: 'the batch took too long to write; nothing was created', hint: 'Send fewer at a time' }
    throw new CarillonError('UNAVAILABLE', details, { cause: error })
  }
  return items
}

async function makeAll(
  { clock, database, jobs }: SubmissionsOptions,
  { tenant }: Owner,
  wanted: Wanted[],
): Promise<(Made | { error: CarillonError })[]> {
  const made: (Made | { error: CarillonError })[] = []
  const place = placeCheck(jobs, tenant)
  const now = clock.now()
  let tenantJitterSec: number | undefined
  const yieldIfDue = eventLoopYielder()
  for (const each of wanted) {
    const pause = yieldIfDue()
    if (pause) await pause
    if ('error' in each) {
      made.push(each)
      continue
    }
    try {
      const { input, payload } = each
      refuseKeys(input)
      if (saysNoJitter(input)) tenantJitterSec ??= await jobs.tenantJitterOf(tenant, input)
      const job = newJob(input, { tenant, payload, now, tenantJitterSec })
      const asked = place(input)
      job.definition.pool = typeof asked === 'string' ? asked : await asked
      if (job.nominal !== null && job.nominal < Math.floor(now)) await requireKept(database, job.nominal)
      made.push({ input, job, due: mayBeSubmission(input) && isDue(job, now) ? job : null })
    } catch (error) {
      made.push(errorOf(error))
    }
  }
  return made
}

function refuseKeys(input: JobInput): void {
  for (const field of keys) {
    if (input[field] === undefined) continue
    throw new CarillonError('VALIDATION', {
      pointer: `/${field}`,
      message: 'is not taken in a batch',
      hint: 'Create this one with POST /v1/jobs',
    })
  }
}

function errorOf(error: unknown): { error: CarillonError } {
  if (error instanceof CarillonError && error.status < 500) return { error }
  throw error
}

const mostDetails = 1_000

function refuseIfAny(made: (Made | { error: CarillonError })[]): asserts made is Made[] {
  const details: ErrorDetail[] = []
  const codes = new Set<CarillonError['code']>()
  for (const [i, each] of made.entries()) {
    if (!('error' in each)) continue
    codes.add(each.error.code)
    for (const detail of each.error.errors) details.push({ ...detail, pointer: `/jobs/${i}${detail.pointer ?? ''}` })
  }
  const [code] = codes
  if (code === undefined) return
  const left = details.length - mostDetails
  if (left > 0) details.splice(mostDetails, left, { message: `and ${left} more`, hint: 'Correct these first' })
  throw new CarillonError(codes.size === 1 ? code : 'VALIDATION', details)
}
