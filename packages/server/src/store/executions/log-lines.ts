import type { HeldExecution } from '@carillon/contract'
import { bigints, integers, texts, uuids } from '../arrays.ts'
import type { Database } from '../database.ts'

/** `from`: how many lines were logged under this fence before these. */
export type LineNews = HeldExecution & { from: number; lines: { at?: number; text: string }[] }

/**
 * Writes lines of handlers that go on: see functions/workers/log_lines.sql. No id may be named twice. Answers for each how many lines
 * are there under its fence; null: not taken.
 */
export async function storeLines(database: Database, news: LineNews[]): Promise<(number | null)[]> {
  const timesOf = ({ lines }: LineNews) => lines.map(({ at }) => (at === undefined ? '' : Math.round(at))).join(',')
  const rows = await database.query<{ stored: (number | null)[] }>(
    'store-lines',
    'select carillon.store_lines($1, $2, $3, $4, $5, $6) stored',
    [
      uuids(news.map((n) => n.executionId)),
      bigints(news.map((n) => n.fence)),
      integers(news.map((n) => n.from)),
      texts(news.map((n) => n.lines.map(({ text }) => `${text}\n`).join(''))),
      texts(news.map(timesOf)),
      database.now,
    ],
  )
  return rows[0]!.stored
}

/** Lines that came together: `position` is the number of the last one among all lines of the execution. */
export interface LineRow {
  position: number
  attempt: number
  times: number[]
  lines: string[]
}

/** What an execution of the tenant has logged after the line with this number, oldest first. Index: log_lines_pkey. */
export async function readLines(
  database: Database,
  tenant: string,
  { executionId, after }: { executionId: string; after: number },
): Promise<LineRow[]> {
  return database.query<LineRow>(
    'read-lines',
    `select l.position, l.attempt, l.times::float8[] times, l.lines from carillon.log_lines l
     where l.execution_id = $1 and l.position > $2
       and exists (select from carillon.executions e where e.execution_id = $1 and e.tenant = $3)
     order by l.position`,
    [executionId, after, tenant],
  )
}

/** How far an execution has come that is followed. */
export interface LogHead {
  executionId: string
  /** The number of its last line; 0: there is none. */
  position: number
  /** JSON text. */
  progress: string | null
  /** Null: it has not ended. */
  state: string | null
}

/** Indexes: executions_pkey, log_lines_pkey, lease_notes_pkey. */
export async function readLogHeads(database: Database, ids: string[]): Promise<LogHead[]> {
  return database.query<LogHead>(
    'read-log-heads',
    `select e.execution_id "executionId", coalesce(l.position, 0) position, coalesce(n.progress, e.progress) progress, e.state
     from unnest($1::uuid[]) i(id) join carillon.executions e on e.execution_id = i.id
     left join lateral (
       select x.position from carillon.log_lines x where x.execution_id = e.execution_id order by x.position desc limit 1) l on true
     left join carillon.lease_notes n on n.execution_id = e.execution_id and e.state is null`,
    [uuids(ids)],
  )
}
