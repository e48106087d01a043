import type { Database } from '../database.ts'

/** Records the tz version that schedules are computed with from now on, if it has changed. Locks: the row. */
export async function noteTzVersion(database: Database, tzVersion: string): Promise<void> {
  await database.query(
    null,
    `update carillon.installation
     set tz_version = $1, tz_changed_at = case when tz_version is not null then coalesce($2, clock_timestamp()) end`,
    [tzVersion, database.now],
  )
}
