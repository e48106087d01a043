/**
 * Submissions with a dedupe key. The decision is made from what was read and written under the key's lock only if
 * that still holds; if another came between, it is made again. A duplicate that changes nothing needs no lock: the
 * holder was there when it was read.
 */
import {
  type AnswerOf,
  type api,
  CarillonError,
  dedupeActions,
  dedupeFields,
  dedupeStates,
  type JobInput,
  limits,
  ranges,
} from '@carillon/contract'
import { type DedupeRule, decideDedupe } from '../domain/dedupe.ts'
import { requireKept } from '../jobs/kept.ts'
import { bornRecord, newTimedJob, runningAt } from '../jobs/new-job.ts'
import { Problems } from '../jobs/validate.ts'
import type { Database } from '../store/database.ts'
import { readKeyHolder, type StoredHolder } from '../store/dedupes/holders.ts'
import { readExecution } from '../store/executions/read.ts'
import { claimAnswer, entryOf, type Once } from '../store/idempotency/answers.ts'
import { readLedgerJob } from '../store/jobs/ledger.ts'
import { readJob, readKeptJob } from '../store/jobs/read.ts'
import { type Created, type Owner, type SubmissionsOptions, submitted } from './submissions.ts'
import { asSubmission, isDue, mayBeSubmission, submissionOf } from './work.ts'

/** The execution that holds the key, and whether it is this one. */
export type DedupeAnswer = NonNullable<AnswerOf<typeof api.createJob>['dedupe']>

const maxTries = 50

/** `request`: it was enqueued in SQL, where the caller got this id; see dedupe-settler.ts. */
export async function submitDeduped(
  options: SubmissionsOptions,
  owner: Owner,
  input: JobInput,
  payload: string | null,
  { once, request }: { once?: Once<Created>; request?: string } = {},
): Promise<Created> {
  const { clock, database, jobs, submitter } = options
  const { tenant, actor } = owner
  const { key, rule } = ruleOf(input)
  const pool = await jobs.require(tenant, input)
  for (let tries = 0; tries < maxTries; tries++) {
    const now = Math.floor(clock.now())
    const wanted = newTimedJob(input, { tenant, payload, now, id: request, pool })
    await requireKept(database, wanted.nominal)
    const holder = await readKeyHolder(database, tenant, key)
    const decision = decideDedupe(rule, holder, { now, runAt: wanted.nominal })
    if (decision.verdict === 'KEPT') {
      const kept = await readKept(database, tenant, holder!)
      if (kept === null) continue
      const entry = await entryOf(once, kept)
      if (entry) await claimAnswer(database, entry)
      options.activity?.duplicates('DEDUPE', 1)
      return kept
    }
    const { verdict, runAt, firstAt, windowUntil } = decision
    const job = runAt === wanted.nominal ? wanted : runningAt(wanted, runAt)
    const { jobId: id } = job.definition
    const dueNow = mayBeSubmission(input) && isDue(job, now)
    const born: Created = dueNow
      ? submitted(asSubmission(job))
      : { job: bornRecord(job), latest: null, what: 'CREATED' }
    const made = { ...born, dedupe: { verdict, executionId: id } }
    const written = await submitter.create({
      actor,
      jobs: dueNow ? [] : [job],
      submissions: dueNow ? [submissionOf(job, input)] : [],
      entry: await entryOf(once, made),
      keyClaim: {
        ...{ tenant, key, seen: holder?.submissionId ?? null, withdraw: verdict !== 'NEW', id, firstAt, windowUntil },
        ...(request !== undefined && { request: { id: request, verdict } }),
      },
    })
    if (written) return made
  }
  throw new CarillonError('STATE_CONFLICT', {
    pointer: '/dedupe/key',
    message: `the holder of ${key} keeps changing`,
    hint: 'Try again',
  })
}

/** The holder, as a job. Null: it has changed since it was read. */
async function readKept(database: Database, tenant: string, holder: StoredHolder): Promise<Created | null> {
  const { submissionId, executionId, state } = holder
  const coming = state === 'COMING'
  // One that passed in a pause, or was deleted after that, has an execution but is still among the jobs.
  const job = coming
    ? await readJob(database, tenant, submissionId)
    : ((await readLedgerJob(database, tenant, submissionId)) ?? (await readKeptJob(database, tenant, submissionId)))
  const execution = coming ? null : await readExecution(database, tenant, executionId)
  if (!job || (!coming && !execution)) return null
  return { job, latest: execution, what: 'UNCHANGED', dedupe: { verdict: 'KEPT', executionId } }
}

function ruleOf({ dedupe, type, key }: JobInput): { key: string; rule: DedupeRule } {
  const problems = new Problems()
  if (!problems.object('/dedupe', dedupe)) throw problems.error()
  const { windowSec, maxWaitSec, while: whilst = 'UNFINISHED', onDuplicate = 'KEEP' } = dedupe
  problems.unknown('/dedupe', dedupe, dedupeFields)
  problems.text('/dedupe/key', dedupe.key, limits.nameLength)
  problems.oneOf('/dedupe/while', whilst, dedupeStates)
  problems.oneOf('/dedupe/onDuplicate', onDuplicate, dedupeActions)
  problems.integer('/dedupe/windowSec', windowSec, ranges.dedupeWindowSec)
  problems.integer('/dedupe/maxWaitSec', maxWaitSec, ranges.dedupeMaxWaitSec)
  if (type !== 'ONE_SHOT' && type !== 'DELAYED')
    problems.add('/dedupe', `dedupe goes with ONE_SHOT and DELAYED, not ${type}`, 'Give the job a key instead')
  if (key !== undefined)
    problems.add('/key', 'key cannot be given beside dedupe', 'A key names one job for good; leave one of them out')
  if (maxWaitSec !== undefined && onDuplicate !== 'DEBOUNCE')
    problems.add(
      '/dedupe/maxWaitSec',
      'dedupe.maxWaitSec goes with DEBOUNCE',
      'Leave it out, or say onDuplicate: DEBOUNCE',
    )
  problems.throwIfAny()
  return { key: dedupe.key, rule: { while: whilst, onDuplicate, windowSec, maxWaitSec } }
}
