import type { VerifiedFigures } from '../../observability/sampled-metrics.ts'
import type { Database } from '../database.ts'

type Figures = Omit<VerifiedFigures, 'verifiedUntil' | 'stuckNow'>

export interface VerifiedHistory {
  since: Date
  until: Date
  stuckNow: number
  total: Figures
  hours: ({ at: Date } & Figures)[]
}

/** What continuous verification has found, in all and hour by hour. Null: it has not begun. Reads two short tables. */
export async function readVerifiedHistory(database: Database): Promise<VerifiedHistory | null> {
  const rows = await database.query<Omit<VerifiedHistory, 'total' | 'hours'> & Figures>(
    'verify-read-totals',
    `select coalesce(v.since, v.verified_until) since, v.verified_until until, v.stuck_now "stuckNow", v.occurrences, v.missed, v.doubled, v.stuck, v.wrong, v.lost,
       v.late from carillon.verification v`,
  )
  if (!rows[0]) return null
  const { since, until, stuckNow, ...total } = rows[0]
  const hours = await database.query<VerifiedHistory['hours'][number]>(
    'verify-read-hours',
    `select h.hour "at", h.occurrences, h.missed, h.doubled, h.stuck, h.wrong, h.lost, h.late from carillon.verified_hours h
     order by h.hour`,
  )
  return { since, until, stuckNow, total, hours }
}
