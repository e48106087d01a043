/** What keeps and answers figures of executions at one node, put together. */
import type { Clock } from '../lib/clock.ts'
import { type Activity, tellAll } from '../observability/activity.ts'
import { LeasedWork } from '../observability/leased-work.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Database } from '../store/database.ts'
import { ActivityById } from './activity-by-id.ts'
import { StatsRecorder } from './recorder.ts'
import { Stats } from './stats.ts'

export class Figures {
  /** What happens is told here. */
  readonly activity: Activity
  readonly byId: ActivityById
  readonly leasedWork = new LeasedWork()
  readonly recorder: StatsRecorder
  readonly stats: Stats

  constructor(options: {
    database: Database
    clock: Clock
    nodeId: string
    metrics: Metrics
    everyMs: number
    logger: Logger
  }) {
    const { database, clock, nodeId, metrics, everyMs, logger } = options
    this.recorder = new StatsRecorder({ database, nodeId, clock, everyMs, logger })
    this.activity = tellAll([metrics.work, this.recorder.activity])
    this.byId = new ActivityById({ database, activity: this.activity })
    this.stats = new Stats({ database, clock, writtenEveryMs: everyMs })
  }
}
