import type { Database } from '../database.ts'
import type { KeyClaim } from '../dedupes/holders.ts'
import { type Submission, submissionArrays } from '../executions/submit.ts'
import { type AnswerEntry, AnsweredBefore } from '../idempotency/answers.ts'
import { iso } from '../rows.ts'
import { type JobDefinition, jobRowOf } from './definition.ts'

export interface NewJob {
  definition: JobDefinition
  /** Null: it follows another job. */
  nominal: number | null
  due: number | null
  createdAt: number
}

/** One that has a first occurrence. */
export interface NewTimedJob extends NewJob {
  nominal: number
  due: number
}

/** What is created in one transaction, all or none. */
export interface NewWork {
  jobs: NewJob[]
  actor: string
  /** Due now, with their tags in the same order. */
  submissions?: Submission[]
  tags?: number[]
  entry?: AnswerEntry | null
  keyClaim?: KeyClaim
}

/** Up to this many are written as quickly as anything else. */
const ordinarySize = 1_000
/** Others wait for none of these locks; but those who read `ready` look back six seconds, no further, and every two. */
const largeMs = 4_000

/**
 * False: nothing was written, because the key of a job was taken or the holder of the dedupe key has changed; look
 * again. Throws AnsweredBefore, and QUOTA_EXCEEDED for more jobs than the tenant may have. See functions/submissions/create_work.sql.
 */
export async function createWork(database: Database, work: NewWork): Promise<boolean> {
  const { jobs, actor, submissions = [], tags = [], entry = null, keyClaim } = work
  const rows = await database.query<{ verdict: string }>(
    'create-work',
    'select carillon.create_work($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18) verdict',
    [
      entry && JSON.stringify(entry),
      keyClaim === undefined ? null : JSON.stringify(keyClaim),
      actor,
      jobs.length === 0 ? null : JSON.stringify(jobs.map(rowOf)),
      ...submissionArrays(submissions, tags),
      database.now,
    ],
    { withinMs: jobs.length + submissions.length > ordinarySize ? largeMs : undefined },
  )
  const { verdict } = rows[0]!
  if (verdict === 'ANSWERED') throw new AnsweredBefore()
  if (verdict.startsWith('{')) throw database.quotaExceeded(JSON.parse(verdict))
  return verdict === 'DONE'
}

/** What is null is left out: [m] half of the time goes into reading the JSON. */
function rowOf({ definition, nominal, due, createdAt }: NewJob): object {
  const row: Record<string, unknown> = { created_at: iso(createdAt), ...(nominal !== null && { nominal, due }) }
  for (const [column, value] of Object.entries(jobRowOf(definition))) if (value !== null) row[column] = value
  return row
}
