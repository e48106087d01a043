/** Dead letters and failing executions, counted by what they have in common. See functions/reads/group_dead_letters.sql. */
import type { Database } from '../database.ts'
import type { Selection } from './select.ts'

interface Failed {
  /** Null: submissions. */
  jobId: string | null
  /** Of the newest. */
  handler: string
  /** Of the newest, if its own row has one. */
  name: string | null
  count: number
  /** Attempts of all of them. */
  attempts: number
  /** Milliseconds. */
  lastAt: number
  newest: string
  lastError: { name: string; message: string; stack?: string } | null
}

export interface DeadLetterGroup extends Failed {
  /** Empty: none. Null where they are grouped by job. */
  error: string | null
  reason: string | null
  jobs: number
  handlers: string[]
  /** Milliseconds. */
  firstAt: number
}

export interface Grouped<Group> {
  groups: Group[]
  /** Everything was looked at, and every group is here. */
  complete: boolean
}

export interface GroupBounds {
  by: 'ERROR' | 'JOB'
  /** The most dead letters to look at, newest first. */
  look: number
  /** The most groups, largest first. */
  most: number
}

/** Dead letters that fit a selection, whatever states it names. */
export async function groupDeadLetters(
  database: Database,
  selection: Selection,
  { by, look, most }: GroupBounds,
): Promise<Grouped<DeadLetterGroup>> {
  const { tenant, after, before, jobId, handler, pool, origin, error, reason = null, labels } = selection
  const rows = await database.query<DeadLetterGroup & { looked: number; groups: number }>(
    'group-dead-letters',
    `select looked, groups, job_id "jobId", handler, error, reason, count, attempts, jobs, handlers, first_at "firstAt",
       last_at "lastAt", newest, last_error "lastError", name
     from carillon.group_dead_letters($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13)`,
    [
      ...[tenant, after, before, look + 1, most, by === 'JOB', jobId, handler, pool, origin, error, reason],
      labels && JSON.stringify(labels),
    ],
  )
  const complete = rows[0]!.looked <= look && rows[0]!.groups <= most
  return { groups: rows.filter(({ count }) => count > 0), complete }
}

/** A tenant's executions that have failed and are to be tried again, by job. Looks at the newest `look` of all tenants. */
export async function groupRetrying(
  database: Database,
  { tenant, after, before }: Pick<Selection, 'tenant' | 'after' | 'before'>,
  look: number,
): Promise<Grouped<Failed>> {
  const rows = await database.query<Failed & { looked: number }>(
    'group-retrying',
    `select looked, job_id "jobId", handler, count, attempts, last_at "lastAt", newest, last_error "lastError", name
     from carillon.group_retrying($1,$2,$3,$4)`,
    [tenant, after, before, look + 1],
  )
  return { groups: rows.filter(({ count }) => count > 0), complete: rows[0]!.looked <= look }
}
