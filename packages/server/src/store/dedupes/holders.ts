/** Which submission holds a dedupe key. Primary key: tenant, key. Written by carillon.take_stand alone. */
import type { KeyHolder } from '../../domain/dedupe.ts'
import type { Database } from '../database.ts'

/** The holder that a caller saw, and the one that shall replace it. */
export interface KeyClaim {
  tenant: string
  key: string
  /** Null: the key was free. */
  seen: string | null
  withdraw: boolean
  id: string
  firstAt: number
  windowUntil: number | null
  /** The enqueue in SQL that this settles. */
  request?: { id: string; verdict: string }
}

/** The holder as it is stored. */
export interface StoredHolder extends KeyHolder {
  /** The id it was given when it was submitted. */
  submissionId: string
  /** The same, unless its time was changed before it fired. */
  executionId: string
}

export async function readKeyHolder(database: Database, tenant: string, key: string): Promise<StoredHolder | null> {
  const rows = await database.query<StoredHolder>(
    'read-dedupe',
    `select d.execution_id "submissionId", coalesce(carillon.fired_as(d.execution_id), d.execution_id) "executionId",
       carillon.ms(d.first_at) "firstAt", carillon.ms(d.window_until) "windowUntil",
       carillon.standing(d.execution_id) state
     from carillon.dedupes d where d.tenant = $1 and d.key = $2`,
    [tenant, key],
  )
  return rows[0] ?? null
}

export interface KeyPosition {
  tenant: string
  key: string
}

/**
 * Looks at the next `limit` rows after `after` and removes those whose submission has ended and whose window is over.
 * Returns the last row it looked at; null: that was the end. Locks: dedupes by key (SKIP LOCKED).
 */
export async function pruneKeys(database: Database, after: KeyPosition, limit: number): Promise<KeyPosition | null> {
  const rows = await database.query<KeyPosition & { seen: number }>(
    null,
    `with page as (
       select d.tenant, d.key from carillon.dedupes d where (d.tenant, d.key) > ($1, $2) order by d.tenant, d.key limit $3
     ), over as (
       select d.tenant, d.key from page p join carillon.dedupes d on d.tenant = p.tenant and d.key = p.key
       where coalesce(d.window_until, d.first_at) <= coalesce($4, clock_timestamp())
         and coalesce(carillon.standing(d.execution_id), 'ENDED') = 'ENDED'
       for update of d skip locked
     ), gone as (
       delete from carillon.dedupes d using over o where d.tenant = o.tenant and d.key = o.key)
     select p.tenant, p.key, (select count(*) from page) seen from page p order by p.tenant desc, p.key desc limit 1`,
    [after.tenant, after.key, limit, database.now],
  )
  const last = rows[0]
  return last === undefined || last.seen < limit ? null : { tenant: last.tenant, key: last.key }
}
