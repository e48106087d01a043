/** The duties that the leader of shard 0 has for the whole installation, and how often each is done. */
import type { EngineConfig } from './config/engine-config.ts'
import type { Clock } from './lib/clock.ts'
import type { Logger } from './observability/logger.ts'
import { StatsRoller } from './stats/roller.ts'
import type { Database } from './store/database.ts'
import type { Isolation } from './store/quarantine/isolation.ts'
import { AuditKeeper } from './upkeep/audit-keeper.ts'
import type { Duty } from './upkeep/duties.ts'
import { EventPruner } from './upkeep/event-pruner.ts'
import { Inspector } from './upkeep/inspector.ts'
import type { Partitioner } from './upkeep/partitioner.ts'
import { Pruner } from './upkeep/pruner.ts'
import type { Sweeper } from './upkeep/sweeper.ts'
import { TzWatcher } from './upkeep/tz-watcher.ts'
import { Verifier } from './verification/verifier.ts'

export interface DutyWiring {
  config: EngineConfig
  database: Database
  clock: Clock
  isolation: Isolation
  logger: Logger
  sweeper: Sweeper
  partitioner: Partitioner
  settleDedupes: () => Promise<void>
  onMoved: (jobIds: readonly string[]) => void
  tzVersion: string
  monotonic?: () => number
}

export function installationDuties(wiring: DutyWiring): Duty[] {
  const { config, database, clock, isolation, logger, sweeper, partitioner, onMoved, tzVersion, monotonic } = wiring
  const inspector = new Inspector({ database, isolation })
  const pruner = new Pruner({ database })
  const auditKeeper = new AuditKeeper({ database })
  const eventPruner = new EventPruner({
    ...{ database, logger },
    undeliveredMs: config.undeliveredEventsMs,
    undeliveredMost: config.undeliveredEventsMost,
  })
  const tzWatcher = new TzWatcher({ database, clock, logger, tzVersion, onMoved })
  const verifier = new Verifier({ database, clock, logger, lostMs: config.workerLostMs, monotonic })
  const statsRoller = new StatsRoller({ database, clock })
  return [
    { name: 'sweeper', everyMs: config.sweepEveryMs, runOnce: () => sweeper.runOnce({ sparing: true }) },
    { name: 'inspector', everyMs: 10_000, runOnce: async () => void (await inspector.runOnce()) },
    { name: 'partitioner', everyMs: 3_600_000, runOnce: () => partitioner.runOnce() },
    { name: 'event pruner', everyMs: 60_000, runOnce: () => eventPruner.runOnce() },
    { name: 'audit keeper', everyMs: 60_000, runOnce: () => auditKeeper.runOnce() },
    { name: 'pruner', everyMs: 3_600_000, runOnce: () => pruner.runOnce() },
    { name: 'tz watcher', everyMs: 3_600_000, runOnce: () => tzWatcher.runOnce() },
    { name: 'verifier', everyMs: 60_000, runOnce: () => verifier.runOnce() },
    { name: 'stats roller', everyMs: 60_000, runOnce: () => statsRoller.runOnce() },
    { name: 'dedupe settler', everyMs: config.pollMs, runOnce: wiring.settleDedupes },
  ]
}
