import { outsideWorkerId } from '../../domain/outside-worker.ts'
import type { Database } from '../database.ts'

/** A running execution that should not be running any more. */
export interface Stray {
  executionId: string
  fence: number
  workerId: string
  began: boolean
  attempt: number
  /** Overdue, whatever its worker does; else its worker is lost. */
  overdue: boolean
}

/**
 * What is running and should not be any more.
 *
 * Overdue: attempts past their timeout or the grace after a cancel; and handlers silent for longer than they may be, if that
 * is not longer than `watchedMs`, the time for which some node could have heard them. Lost: what is with workers not heard of
 * since `lostMs` ago, or that no longer exist (null: no worker counts as lost); not deferred ones, whose external system is
 * not heard of until the end.
 *
 * Reads all leases, and the ledger only for what they cover where the lease itself is past its time or its worker lost. Locks: what
 * other transactions have locked is left to them. `only`: of these leases.
 */
export async function readStrays(
  database: Database,
  { watchedMs, lostMs, limit }: { watchedMs: number; lostMs: number | null; limit: number },
  only: string[] | null = null,
): Promise<Stray[]> {
  const rows = await database.query<{
    execution_id: string
    fence: number
    worker_id: string
    began: boolean
    attempt: number
    overdue: boolean
  }>('read-strays', 'select * from carillon.read_strays($1, $2, $3, $4, $5, $6)', [
    database.now,
    watchedMs,
    lostMs,
    limit,
    outsideWorkerId,
    only,
  ])
  return rows.map((row) => ({
    executionId: row.execution_id,
    fence: row.fence,
    workerId: row.worker_id,
    began: row.began,
    attempt: row.attempt,
    overdue: row.overdue,
  }))
}

/** Removes workers silent for this long, and returns them; those that still hold something stay until it has ended. */
export async function removeSilent(
  database: Database,
  silentMs: number,
): Promise<{ workerId: string; name: string }[]> {
  return database.query<{ workerId: string; name: string }>(
    'remove-silent',
    `delete from carillon.workers w where w.seen_at < coalesce($2, clock_timestamp()) - $1 * interval '1 millisecond'
       and not exists (
         select from carillon.leases l cross join lateral unnest(l.ids) with ordinality u(id, place)
         left join carillon.lease_notes n on n.execution_id = u.id and n.fence = (l.lease_id << 10) + u.place - 1
         join carillon.executions e on e.execution_id = u.id and e.state is null
           and (e.fence is null or e.fence < (l.lease_id << 10) + u.place - 1)
         where l.worker_id = w.worker_id and n.worker_id is null)
     returning w.worker_id "workerId", w.name`,
    [silentMs, database.now],
  )
}

/** Which executions run and under which fence, nothing else of them. */
export async function readRunningKeys(
  database: Database,
  limit: number,
): Promise<{ executionId: string; fence: number }[]> {
  return database.query(null, 'select execution_id "executionId", fence from carillon.running limit $1', [limit])
}

/** Which start windows and deadlines have come, nothing else of them. Index: deadlines_due. */
export async function readExpiringKeys(
  database: Database,
  limit: number,
): Promise<{ executionId: string; kind: string }[]> {
  return database.query(
    null,
    `select execution_id "executionId", kind from carillon.deadlines where due <= coalesce($2, clock_timestamp())
     order by due limit $1`,
    [limit, database.now],
  )
}

/** Start windows and deadlines that have come, of `only` if given. Answers what runs and must be told to stop. */
export async function expireDue(
  database: Database,
  limit: number,
  only: string[] | null = null,
): Promise<{ flagged: { executionId: string; workerId: string; fence: number }[]; dead: string[]; skipped: string[] }> {
  const rows = await database.query<{ execution_id: string; verdict: string; worker_id: string; fence: number }>(
    'expire-due',
    'select execution_id, verdict, worker_id, fence from carillon.expire_due($1, $2, $3)',
    [limit, database.now, only],
  )
  const flagged = rows.filter((row) => row.verdict === 'FLAGGED')
  return {
    flagged: flagged.map((row) => ({ executionId: row.execution_id, workerId: row.worker_id, fence: row.fence })),
    dead: rows.filter((row) => row.verdict === 'DEAD').map((row) => row.execution_id),
    skipped: rows.filter((row) => row.verdict === 'SKIPPED').map((row) => row.execution_id),
  }
}

/** Which executions wait, nothing else of them. */
export async function readWaitingKeys(database: Database, limit: number): Promise<{ executionId: string }[]> {
  return database.query(null, 'select execution_id "executionId" from carillon.waiting where tenant is null limit $1', [
    limit,
  ])
}

/** Releases what waits although nothing blocks it any more; of `only` if given. */
export async function releaseStranded(database: Database, only: string[] | null = null): Promise<boolean> {
  const rows = await database.query<{ due: unknown }>(
    'release-stranded',
    `select carillon.release_waiting(array_agg(distinct substr(w.key, 5)::uuid), coalesce($1, clock_timestamp())) due
     from carillon.waiting w where w.key like 'job:%' and ($2::uuid[] is null or w.execution_id = any ($2))
     having count(*) > 0`,
    [database.now, only],
  )
  return rows.some((row) => row.due !== null)
}
