/** What PostgreSQL knows of time zones. Schedules are never computed with it; queries of the user's own are. No locks. */
import type { Database } from '../database.ts'

export interface ServerZone {
  name: string
  /** Offsets in seconds at the instants asked for. */
  offsets: number[]
}

/** Every zone that PostgreSQL has, with its offset at each of these instants. */
export function readServerZones(database: Database, instants: readonly number[]): Promise<ServerZone[]> {
  return database.query<ServerZone>(
    null,
    `select n.name, array_agg(extract(epoch from ((t.at at time zone n.name) - (t.at at time zone 'UTC')))::int
       order by t.number) offsets
     from pg_timezone_names n
     cross join (select to_timestamp(ms / 1000.0) at, number from unnest($1::bigint[]) with ordinality a(ms, number)) t
     where n.name !~ '^(posix|right)/' group by n.name`,
    [instants],
  )
}
