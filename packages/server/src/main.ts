/**
 * The composition root: from a configuration to a running node. The only file that knows every folder. Parts start in
 * the order in which they need each other.
 */

import { HandOver } from './admission/hand-over.ts'
import { Submitter } from './admission/submitter.ts'
import { createTagger, type TagFlows } from './admission/tags.ts'
import { VirtualTimes } from './admission/virtual-times.ts'
import { Completion } from './completion/completion.ts'
import type { EngineConfig } from './config/engine-config.ts'
import { Dispatcher } from './dispatch/dispatcher.ts'
import { newId } from './domain/identity.ts'
import { Events } from './events/events.ts'
import { Ends } from './executions/ends.ts'
import { Executions } from './executions/executions.ts'
import { Explainer } from './executions/explainer.ts'
import { Wheel } from './hot-window/wheel.ts'
import { FailureWatch } from './jobs/failure-watch.ts'
import { Jobs } from './jobs/jobs.ts'
import { KnownPools } from './jobs/pools.ts'
import { type TargetRules, workersOnly } from './jobs/target.ts'
import { PostgresLeadership } from './leadership/postgres.ts'
import { monotonicMs, OffsetClock } from './lib/clock.ts'
import type { Service } from './lib/service.ts'
import './lib/temporal.ts'
import { deadLetterLog } from './observability/dead-letter-log.ts'
import type { Logger } from './observability/logger.ts'
import { Metrics } from './observability/metrics.ts'
import { Operations } from './operations/operations.ts'
import { Operator } from './operations/operator.ts'
import { Pulse, type PulsePart, type PulseSettings } from './pulse/pulse.ts'
import { Scheduler } from './scheduling/scheduler.ts'
import { NotifySignals } from './signals/notify.ts'
import type { Signals } from './signals/port.ts'
import { Database } from './store/database.ts'
import { migrate } from './store/migrate.ts'
import { Submissions } from './submissions/submissions.ts'
import { BoundTokens } from './targets/bound-tokens.ts'
import { Duties } from './upkeep/duties.ts'
import { EventPruner } from './upkeep/event-pruner.ts'
import { Partitioner } from './upkeep/partitioner.ts'
import { Pruner } from './upkeep/pruner.ts'
import { Sweeper } from './upkeep/sweeper.ts'
import { TzWatcher } from './upkeep/tz-watcher.ts'
import { Verifier } from './verification/verifier.ts'
import { WorkerDesk } from './workers/worker-desk.ts'

/** What a node makes for itself unless it is handed over: for tests and simulation, whose time is not the machine's. */
export interface EngineParts {
  database?: Database
  clock?: OffsetClock
  signals?: Signals
  pulse?: (settings: PulseSettings) => PulsePart
  metrics?: Metrics
  /** Of the tz database. */
  tzVersion?: string
  /** Milliseconds by which the sweeper knows how long it has watched. */
  monotonic?: () => number
  /** A number between 0 and 1, for the jitter of retries. */
  chance?: () => number
}

export class Engine implements Service {
  readonly nodeId: string
  readonly database: Database
  readonly clock: OffsetClock
  readonly signals: Signals
  readonly metrics: Metrics
  readonly jobs: Jobs
  readonly submitter: Submitter
  readonly submissions: Submissions
  readonly executions: Executions
  readonly explainer: Explainer
  readonly operations: Operations
  readonly ends: Ends
  readonly events: Events
  readonly desk: WorkerDesk
  readonly maxPollMs: number
  readonly completion: Completion
  readonly tokens: BoundTokens
  readonly pulse: PulsePart
  readonly tag: TagFlows
  readonly #config: EngineConfig
  readonly #logger: Logger
  readonly #failures: FailureWatch
  readonly #partitioner: Partitioner
  /** What the loops do, once: for whoever sets the clock and does not want to wait for them. */
  readonly byHand: Readonly<
    Record<'fire' | 'sweep' | 'compareHeld' | 'operate' | 'pauseFailing', () => Promise<unknown>>
  >
  readonly #services: Service[]
  readonly #stopOrder: Service[]

  constructor(config: EngineConfig, logger: Logger, options: { targets?: TargetRules; parts?: EngineParts } = {}) {
    const { parts = {} } = options
    this.#config = config
    this.maxPollMs = config.maxPollMs
    this.#logger = logger
    this.metrics = parts.metrics ?? new Metrics()
    this.nodeId = newId(Math.floor(monotonicMs()))
    const clock = parts.clock ?? new OffsetClock()
    const database =
      parts.database ??
      new Database({
        url: config.databaseUrl,
        maxConnections: config.maxConnections,
        statementTimeoutMs: config.statementTimeoutMs,
        applicationName: `carillon ${config.nodeName}`,
      })
    const alone = () => leadership.alone()
    const signals = parts.signals ?? new NotifySignals({ database, nodeId: this.nodeId, alone, logger })
    const beats: PulseSettings = {
      databaseUrl: config.databaseUrl,
      nodeId: this.nodeId,
      nodeName: config.nodeName,
      leaseMs: config.leaseMs,
      renewEveryMs: config.renewEveryMs,
      lifeMs: config.lifeMs,
      workersEveryMs: config.heartbeatEveryMs,
    }
    const pulse = parts.pulse?.(beats) ?? new Pulse(beats, logger)
    const leadership = new PostgresLeadership({
      database,
      nodeId: this.nodeId,
      clock,
      signals,
      everyMs: config.renewEveryMs,
      logger,
    })
    const virtualTimes = new VirtualTimes({ database, logger })
    const tag = createTagger(database, virtualTimes)
    const scheduler = new Scheduler({
      database,
      leadership,
      window: new Wheel(),
      signals,
      clock,
      tag,
      pollMs: config.pollMs,
      windowMs: config.windowMs,
      logger,
    })
    const onDead = (executionIds: string[]) => this.#failures.died(executionIds)
    const onDeadLetters = deadLetterLog(logger)
    const completion = new Completion({ database, signals, clock, onDead, onDeadLetters, chance: parts.chance })
    const dispatcher = new Dispatcher({
      database,
      clock,
      signals,
      pollMs: config.pollMs,
      logger,
      mayLease: (workerId) => this.desk.mayLease(workerId),
      onLeased: (pool, lane, highest) => virtualTimes.leased(pool, lane, highest),
      onUndelivered: (leases) => this.desk.undelivered(leases),
    })
    const partitioner = new Partitioner({ database, clock, logger })
    const sweeper = new Sweeper({
      database,
      signals,
      logger,
      everyMs: config.sweepEveryMs,
      lostMs: config.workerLostMs,
      monotonic: parts.monotonic,
      onDead: (executionIds) => {
        onDeadLetters(executionIds.map((executionId) => ({ executionId, reason: 'DEADLINE', error: null })))
        onDead(executionIds)
      },
      end: async ({ executionId, fence }, said) =>
        (await completion.end({ executionId, fence, actor: 'sweeper', from: 'NODE', said })) === 'ACCEPTED',
    })
    const pruner = new Pruner({ database })
    const eventPruner = new EventPruner({ database })
    const tzVersion = parts.tzVersion ?? process.versions.tz ?? 'unknown'
    const tzWatcher = new TzWatcher({ database, clock, logger, tzVersion })
    const verifier = new Verifier({ database, clock, logger, monotonic: parts.monotonic })
    const duties = new Duties({
      leadership,
      logger,
      duties: [
        { name: 'sweeper', everyMs: config.sweepEveryMs, runOnce: () => sweeper.runOnce({ sparing: true }) },
        { name: 'partitioner', everyMs: 3_600_000, runOnce: () => partitioner.runOnce() },
        { name: 'event pruner', everyMs: 60_000, runOnce: () => eventPruner.runOnce() },
        { name: 'pruner', everyMs: 3_600_000, runOnce: () => pruner.runOnce() },
        { name: 'tz watcher', everyMs: 3_600_000, runOnce: () => tzWatcher.runOnce() },
        { name: 'verifier', everyMs: 60_000, runOnce: () => verifier.runOnce() },
      ],
    })
    this.database = database
    this.clock = clock
    this.signals = signals
    this.pulse = pulse
    this.tag = tag
    const pools = new KnownPools(database)
    const handOver = new HandOver({ database, virtualTimes, fill: (pool, write) => dispatcher.fill(pool, write) })
    const submitter = new Submitter({ database, tag, signals, handOver })
    this.jobs = new Jobs({ database, signals, clock, tag, pools, targets: options.targets ?? workersOnly })
    this.submissions = new Submissions({ database, clock, jobs: this.jobs, submitter })
    this.ends = new Ends({ database, signals, logger })
    this.events = new Events({ database, logger })
    this.executions = new Executions({ database, signals, clock, jobs: this.jobs, ends: this.ends })
    this.explainer = new Explainer({ database, clock, executions: this.executions, suspectMs: config.workerSuspectMs })
    const operator = new Operator({ database, signals, clock, logger, everyMs: config.pollMs })
    this.operations = new Operations({ database, clock, wake: () => operator.wake() })
    this.submitter = submitter
    this.desk = new WorkerDesk({
      ...{ database, nodeId: this.nodeId, dispatcher, completion, signals, clock, logger },
      times: {
        heartbeatEveryMs: config.heartbeatEveryMs,
        suspectAfterMs: config.workerSuspectMs,
        lostAfterMs: config.workerLostMs,
      },
      maxWaiting: config.maxWaiting,
    })
    this.completion = completion
    this.#failures = new FailureWatch({ database, jobs: this.jobs, logger })
    this.tokens = new BoundTokens(database)
    this.#partitioner = partitioner
    this.byHand = {
      fire: () => scheduler.runOnce(),
      sweep: () => sweeper.runOnce(),
      compareHeld: () => this.desk.compareHeld(),
      operate: () => operator.runOnce(),
      pauseFailing: () => this.#failures.idle(),
    }
    const later = [scheduler, duties, this.ends, this.events, operator]
    this.#services = [signals, pulse, leadership, virtualTimes, dispatcher, this.desk, ...later]
    // The pulse ends before leadership is given up: a renewal after that would bring the node back to life.
    const earlier = [operator, this.events, this.ends, this.desk, duties, scheduler]
    this.#stopOrder = [...earlier, dispatcher, virtualTimes, pulse, leadership, signals]
  }

  async start(): Promise<void> {
    const { shardCount, partitionHours, retentionDays } = this.#config
    await migrate(this.database, { shardCount, partitionHours, retentionDays })
    await this.#setClock()
    // The days needed now must be there before anything is written.
    await this.#partitioner.createMissing()
    for (const service of this.#services) await service.start()
    this.#logger.info({ nodeId: this.nodeId, node: this.#config.nodeName }, 'the node has started')
  }

  async stop(): Promise<void> {
    await this.submitter.idle()
    await this.completion.idle()
    for (const service of this.#stopOrder) {
      // The database may be gone: then the others find out by themselves, and we go all the same.
      await service.stop().catch((error: unknown) => {
        this.#logger.warn({ err: error }, 'a service failed to stop cleanly')
      })
    }
    await this.completion.idle()
    await this.#failures.idle()
    await this.database.end()
    this.#logger.info({ nodeId: this.nodeId, node: this.#config.nodeName }, 'the node has stopped')
  }

  async #setClock(): Promise<void> {
    const asked = monotonicMs()
    const sql = 'select carillon.ms(coalesce($1, clock_timestamp())) now'
    const rows = await this.database.query<{ now: number }>(null, sql, [this.database.now])
    this.clock.measured(rows[0]!.now, asked, monotonicMs())
  }
}
