import type { Database } from '../database.ts'

/**
 * Removes what no holder is left for: completions that were committed after their execution had ended, notes, and leases of which
 * nothing is held, which only manual changes leave behind. Locked leases stay. Reads all of them.
 */
export async function pruneLeases(database: Database): Promise<void> {
  const held = (fence: string, id: string) => `exists (select from carillon.executions e
    where e.execution_id = ${id} and e.state is null and (e.fence is null or e.fence < ${fence}))`
  await database.query(null, `delete from carillon.completions c where not ${held('c.fence', 'c.execution_id')}`)
  await database.query(
    null,
    `delete from carillon.leases where lease_id in (
       select l.lease_id from carillon.leases l where l.leased_at < coalesce($1, clock_timestamp()) - interval '1 minute'
         and not exists (select from unnest(l.ids) with ordinality u(id, place)
                         where ${held('(l.lease_id << 10) + u.place - 1', 'u.id')})
       order by l.lease_id for update skip locked)`,
    [database.now],
  )
  await database.query(
    null,
    `delete from carillon.lease_notes n where not exists (
       select from carillon.leases l where l.lease_id = n.fence >> 10 and l.ids[(n.fence & 1023) + 1] = n.execution_id)`,
  )
}
