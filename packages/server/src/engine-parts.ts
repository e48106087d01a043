import type { Seams } from './choose-seams.ts'
import type { KeepAlive, KeepAliveSettings } from './keep-alive/keep-alive.ts'
import type { OffsetClock } from './lib/clock.ts'
import type { Metrics } from './observability/metrics.ts'
import type { Database } from './store/database.ts'

/** Parts that may be replaced: for tests and simulation, whose time is not the machine's. */
export interface EngineParts extends Partial<Seams> {
  database?: Database
  clock?: OffsetClock
  keepAlive?: (settings: KeepAliveSettings) => KeepAlive
  metrics?: Metrics
  /** Of the tz database. */
  tzVersion?: string
  /** Milliseconds; measures the time that periodic work takes. */
  monotonic?: () => number
  /** A number between 0 and 1, for the jitter of retries. */
  chance?: () => number
}
