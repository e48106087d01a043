import type { DayFields, DstPolicy } from '@carillon/contract'
import type { ScheduleGroup } from '../../domain/schedule/forecast.ts'
import { jitterOffsetMs } from '../../domain/schedule/jitter.ts'
import type { RecurringSpec } from '../../domain/schedule/preview.ts'
import type { Database } from '../database.ts'

interface Row {
  last: string | null
  cron: string | null
  interval: string | null
  timezone: string
  dst_gap: DstPolicy['gap']
  dst_overlap: DstPolicy['overlap']
  day_fields: DayFields
  anchor: number | null
  start_at: number | null
  end_at: number | null
  left: number | null
  jittered: string | null
  jitter_sec: number
  nominal: number
  pool: string
  handler: string
  count: number
  job_ids: string[]
  names: string[]
}

export interface SchedulePage {
  /** Each with one target; `key` is the same for groups that fire at the same times. */
  groups: { key: string; group: ScheduleGroup }[]
  /** Where the next page begins; null: that was all. */
  next: string | null
}

/** A page of a tenant's active jobs, by when they fire. See functions/reads/group_schedules.sql. */
export async function readScheduleGroups(
  database: Database,
  { tenant, after, limit }: { tenant: string; after: string; limit: number },
): Promise<SchedulePage> {
  const rows = await database.query<Row>('group-schedules', 'select * from carillon.group_schedules($1, $2, $3)', [
    ...[tenant, after, limit],
  ])
  return {
    groups: rows.filter(({ count }) => count > 0).map((row) => ({ key: keyOf(row), group: groupOf(row) })),
    next: rows.at(-1)!.last,
  }
}

function keyOf(row: Row): string {
  const { cron, interval, timezone, dst_gap, dst_overlap, day_fields, anchor } = row
  return JSON.stringify([
    ...[cron, interval, timezone, dst_gap, dst_overlap, day_fields, anchor],
    ...[row.start_at, row.end_at, row.left, row.jittered, row.nominal],
  ])
}

function groupOf(row: Row): ScheduleGroup {
  return {
    spec: specOf(row),
    bounds: { startAt: row.start_at, endAt: row.end_at },
    nominal: row.nominal,
    jitterMs: row.jittered === null ? 0 : jitterOffsetMs(row.jittered, row.jitter_sec),
    left: row.left,
    targets: [{ pool: row.pool, handler: row.handler, jobs: row.count }],
    sample: row.job_ids.map((jobId, i) => ({ jobId, name: row.names[i]! })),
  }
}

function specOf(row: Row): RecurringSpec | null {
  const { cron, interval, timezone, anchor, day_fields: dayFields } = row
  const dst = { gap: row.dst_gap, overlap: row.dst_overlap }
  if (cron !== null) return { type: 'CRON', expression: cron, timezone, dst, dayFields }
  return interval === null ? null : { type: 'INTERVAL', interval, anchor: anchor!, timezone, dst }
}
