import type { Database } from '../database.ts'
import { lastId } from './select.ts'

export interface MeasuredDuration {
  pool: string
  handler: string
  count: number
  meanMs: number
}

/** How long attempts took of late, by pool and handler. See functions/reads/mean_durations.sql. */
export function readMeanDurations(database: Database, tenant: string, look: number): Promise<MeasuredDuration[]> {
  return database.query<MeasuredDuration>(
    'read-mean-durations',
    'select pool, handler, count, mean_ms "meanMs" from carillon.mean_durations($1, $2, $3)',
    [tenant, lastId, look],
  )
}
