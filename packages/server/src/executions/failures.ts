/** What fails, counted: dead letters by the error they ended with, and what failed by job. Bounded; the answer says if it was cut. */
import type { DeadLetterGroups, JobFailures } from '@carillon/contract/api'
import type { Database } from '../store/database.ts'
import { groupDeadLetters, groupRetrying } from '../store/executions/groups.ts'
import type { Selection } from '../store/executions/select.ts'
import { readJobNames } from '../store/jobs/names.ts'
import { type ExecutionFilter, selectionOf } from './selection.ts'

/** The most dead letters, and the most executions to be retried, that are looked at. */
const look = 100_000
/** With a filter that only the ledger can answer. */
const lookInLedger = 20_000
const lookForRetries = 10_000
const mostGroups = 1_000

/** The largest group first. */
export async function deadLetterGroups(
  database: Database,
  tenant: string,
  filter: Omit<ExecutionFilter, 'state'>,
): Promise<DeadLetterGroups> {
  const selection = await selectionOf(database, tenant, filter)
  const bounds = { by: 'ERROR', look: inLedger(selection) ? lookInLedger : look, most: mostGroups } as const
  const { groups, complete } = await groupDeadLetters(database, selection, bounds)
  return {
    groups: groups.map(({ error, reason, lastError, count, jobs, handlers, firstAt, lastAt, newest }) => ({
      ...{ error: error || null, reason: reason!, message: lastError?.message ?? null, count, jobs, handlers, newest },
      ...{ firstAt: new Date(firstAt).toISOString(), lastAt: new Date(lastAt).toISOString() },
    })),
    complete,
  }
}

/** Dead letters scheduled in a time, and what of it has failed and is still to be tried again, by job. */
export async function failuresByJob(
  database: Database,
  tenant: string,
  range: { from: number; to: number | null },
): Promise<JobFailures> {
  const filter = { from: range.from, ...(range.to !== null && { to: range.to }) }
  const selection = await selectionOf(database, tenant, filter)
  const dead = await groupDeadLetters(database, selection, { by: 'JOB', look, most: mostGroups })
  const retrying = await groupRetrying(database, selection, lookForRetries)
  const items = new Map<string, JobFailures['items'][number]>()
  const parts = [
    ...dead.groups.map((group) => ({ ...group, dead: group.count, retrying: 0 })),
    ...retrying.groups.map((group) => ({ ...group, dead: 0, retrying: group.count })),
  ]
  for (const { jobId, handler, name, dead, retrying, attempts: failed, lastAt, lastError, newest } of parts) {
    const key = jobId ?? `submissions of ${handler}`
    const lastFailedAt = new Date(lastAt).toISOString()
    const own = { jobId, key: null, name, handler, dead, retrying, failed, lastFailedAt, lastError, newest }
    const before = items.get(key)
    if (before === undefined) items.set(key, own)
    else {
      const sums = { dead: before.dead + dead, retrying: before.retrying + retrying, failed: before.failed + failed }
      items.set(key, { ...(before.lastFailedAt < lastFailedAt ? own : before), ...sums })
    }
  }
  const names = await readJobNames(
    database,
    tenant,
    [...items.values()].flatMap(({ jobId }) => jobId ?? []),
  )
  return {
    items: [...items.values()]
      .map((item) => ({ ...item, ...(item.jobId === null ? {} : names.get(item.jobId)) }))
      .sort((a, b) => b.dead - a.dead || b.failed - a.failed)
      .slice(0, mostGroups),
    complete: dead.complete && retrying.complete,
  }
}

function inLedger({ origin, labels }: Selection): boolean {
  return origin !== null || labels !== null
}
