/** How long work takes, for the load that is to be expected. The one place that knows where durations are measured. */
import type { MeanDuration } from '../domain/schedule/forecast.ts'
import type { Database } from '../store/database.ts'
import { type MeasuredDuration, readMeanDurations } from '../store/executions/durations.ts'

const look = 5_000

/** The mean of a handler in a pool; of one that has not run of late, the mean of its pool. */
export async function measureDurations(database: Database, tenant: string): Promise<MeanDuration> {
  const measured = await readMeanDurations(database, tenant, look)
  const byHandler = new Map(measured.map(({ pool, handler, meanMs }) => [`${pool}\u0000${handler}`, meanMs]))
  const byPool = new Map<string, number>()
  for (const [pool, all] of Map.groupBy(measured, ({ pool }) => pool)) byPool.set(pool, meanOf(all))
  return (pool, handler) => byHandler.get(`${pool}\u0000${handler}`) ?? byPool.get(pool) ?? null
}

function meanOf(measured: readonly MeasuredDuration[]): number {
  const total = measured.reduce((sum, { count, meanMs }) => sum + count * meanMs, 0)
  return total / measured.reduce((sum, { count }) => sum + count, 0)
}
