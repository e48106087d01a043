/**
 * The composition root: from a configuration to a running engine. Services start in
 * the order in which they depend on each other.
 */

import { Admission } from './admission/admission.ts'
import { HandOver } from './admission/hand-over.ts'
import { TenantQuotas } from './admission/quotas.ts'
import { Receipts } from './admission/receipts.ts'
import { Submitter } from './admission/submitter.ts'
import type { TagFlows } from './admission/tags.ts'
import { chooseSeams } from './choose-seams.ts'
import { Completion } from './completion/completion.ts'
import type { EngineConfig } from './config/engine-config.ts'
import { kafkaPlace } from './config/kafka-place.ts'
import { Advancer } from './dags/advancer.ts'
import { Dags } from './dags/dags.ts'
import { RunEnds } from './dags/run-ends.ts'
import { RunFigures } from './dags/run-figures.ts'
import { DagRuns } from './dags/runs.ts'
import { StartedRuns } from './dags/started-runs.ts'
import { Dispatcher } from './dispatch/dispatcher.ts'
import { newId } from './domain/identity.ts'
import type { EngineParts } from './engine-parts.ts'
import { Events } from './events/events.ts'
import { KafkaPublisher } from './events/kafka-publisher.ts'
import { Ends } from './executions/ends.ts'
import { Executions } from './executions/executions.ts'
import { Explainer } from './executions/explainer.ts'
import { LogFeed } from './executions/log-feed.ts'
import { Forecasts } from './forecast/forecasts.ts'
import { installationDuties } from './installation-duties.ts'
import { DeclaredTenants } from './jobs/declared-tenants.ts'
import { FailureWatch } from './jobs/failure-watch.ts'
import { Jobs } from './jobs/jobs.ts'
import { KnownPools } from './jobs/pools.ts'
import { type TargetRules, workersOnly } from './jobs/target.ts'
import { type KeepAliveSettings, KeepAliveThread } from './keep-alive/keep-alive.ts'
import { monotonicMs, OffsetClock } from './lib/clock.ts'
import type { Service } from './lib/service.ts'
import './lib/temporal.ts'
import { serverVersion } from './lib/version.ts'
import type { WorkerLiveness } from './liveness/port.ts'
import type { Activity } from './observability/activity.ts'
import { deadLetterLog } from './observability/dead-letter-log.ts'
import type { Logger } from './observability/logger.ts'
import { Metrics } from './observability/metrics.ts'
import { Operations } from './operations/operations.ts'
import { Operator } from './operations/operator.ts'
import { Quarantine } from './quarantine/quarantine.ts'
import { Scheduler } from './scheduling/scheduler.ts'
import type { Signals } from './signals/port.ts'
import { Figures } from './stats/figures.ts'
import type { Stats } from './stats/stats.ts'
import { Database } from './store/database.ts'
import { migrate } from './store/migrate.ts'
import { requireSessions } from './store/pooling.ts'
import { Isolation } from './store/quarantine/isolation.ts'
import { waitOut } from './store/wait-out.ts'
import { DedupeSettler } from './submissions/dedupe-settler.ts'
import { Submissions } from './submissions/submissions.ts'
import { BoundTokens } from './targets/bound-tokens.ts'
import { ClockOffsetMonitor } from './upkeep/clock-offset-monitor.ts'
import { Duties } from './upkeep/duties.ts'
import { NodeRecorder } from './upkeep/node-recorder.ts'
import { Partitioner } from './upkeep/partitioner.ts'
import { Sampler } from './upkeep/sampler.ts'
import { Sweeper } from './upkeep/sweeper.ts'
import { WorkerSessions } from './workers/worker-sessions.ts'

const startPatienceMs = 30_000
/** How often workers send what their handlers have logged. */
const logEveryMs = 1_000

export class Engine implements Service {
  readonly nodeId: string
  readonly node: { readonly name: string; readonly version: string }
  readonly database: Database
  readonly clock: OffsetClock
  readonly signals: Signals
  readonly metrics: Metrics
  readonly activity: Activity
  readonly tenants: DeclaredTenants
  readonly quotas: TenantQuotas
  readonly jobs: Jobs
  readonly submitter: Submitter
  readonly submissions: Submissions
  readonly executions: Executions
  readonly dags: Dags
  readonly dagRuns: DagRuns
  readonly startedRuns: StartedRuns
  readonly explainer: Explainer
  readonly operations: Operations
  readonly quarantine: Quarantine
  readonly stats: Stats
  readonly ends: Ends
  readonly forecasts: Forecasts
  readonly events: Events
  readonly logFeed: LogFeed
  readonly workerSessions: WorkerSessions
  readonly maxPollMs: number
  readonly completion: Completion
  readonly tokens: BoundTokens
  readonly liveness: WorkerLiveness
  readonly tag: TagFlows
  readonly #config: EngineConfig
  readonly #ownDatabase: boolean
  readonly #logger: Logger
  readonly #failures: FailureWatch
  readonly #partitioner: Partitioner
  readonly #clockOffset: ClockOffsetMonitor
  readonly #dedupeSettler: DedupeSettler
  /** Single runs of the loops, for callers that set the clock. */
  readonly byHand: Readonly<
    Record<'fire' | 'admit' | 'advance' | 'sweep' | 'compareHeld' | 'operate' | 'pauseFailing', () => Promise<unknown>>
  >
  readonly #services: Service[]
  readonly #stopOrder: Service[]
  readonly #started = new Set<Service>()

  constructor(config: EngineConfig, logger: Logger, options: { targets?: TargetRules; parts?: EngineParts } = {}) {
    const { parts = {} } = options
    this.#config = config
    this.#ownDatabase = parts.database === undefined
    this.maxPollMs = config.maxPollMs
    this.#logger = logger
    this.metrics = parts.metrics ?? new Metrics()
    this.nodeId = newId(Math.floor(monotonicMs()))
    this.node = { name: config.nodeName, version: serverVersion }
    const clock = parts.clock ?? new OffsetClock()
    const database =
      parts.database ??
      new Database({
        url: config.databaseUrl,
        directUrl: config.directUrl,
        maxConnections: config.maxConnections,
        statementTimeoutMs: config.statementTimeoutMs,
        applicationName: `carillon ${config.nodeName}`,
      })
    const figuresEveryMs = config.figuresEveryMs
    const { nodeId, metrics } = this
    const figures = new Figures({ database, clock, nodeId, metrics, everyMs: figuresEveryMs, logger })
    const { activity, byId, leasedWork, recorder, stats } = figures
    this.activity = activity
    this.stats = stats
    const clockOffset = new ClockOffsetMonitor({ database, clock, everyMs: config.renewEveryMs, logger })
    const keepAliveSettings: KeepAliveSettings = {
      databaseUrl: config.directUrl ?? config.databaseUrl,
      renewEveryMs: config.renewEveryMs,
      workersEveryMs: config.heartbeatEveryMs,
      answerWithinMs: config.leaseMs,
    }
    const keepAlive = parts.keepAlive?.(keepAliveSettings) ?? new KeepAliveThread(keepAliveSettings, logger)
    const isolation = new Isolation({ database, logger, onSetAside: (source) => this.metrics.node.setAside(source) })
    const { leadership, dueSource, queues, signals, liveness, statusReads, connections } = chooseSeams(
      {
        ...{ config, nodeId: this.nodeId, database, isolation, keepAlive, clock, metrics: this.metrics, logger },
        workers: () => this.workerSessions.workerIds(),
      },
      parts,
    )
    leadership.onFreed(() => signals.publish({ kind: 'SHARDS' }))
    signals.subscribe(({ kind }) => {
      if (kind === 'SHARDS') leadership.wake()
    })
    this.forecasts = new Forecasts({ database, clock, logger })
    const onMoved = (jobIds: readonly string[]) => {
      dueSource.moved(jobIds)
      this.forecasts.changed()
    }
    const admission = new Admission({
      ...{ database, leadership, signals, clock, pollMs: config.pollMs, logger },
      onSlotsLost: (slots) => metrics.node.slotsLost(slots),
    })
    const { virtualTimes, weightOf, tag, limiter } = admission
    const receipts = new Receipts({ database, nodeId: this.nodeId, clock, logger })
    const onSubmitted = (items: { tenant: string; executionId: string }[]) => receipts.acknowledged(items)
    const scheduler = new Scheduler({
      ...{ database, isolation, leadership, source: dueSource, signals, clock, tag, weightOf, onSubmitted, activity },
      onFollowed: (count) => metrics.runs.followed(count),
      ...{ pollMs: config.pollMs, windowMs: config.windowMs, logger },
    })
    const onDead = (executionIds: string[]) => this.#failures.died(executionIds)
    const onDeadLetters = deadLetterLog(logger)
    const completion = new Completion({
      ...{ database, signals, clock, isolation, onDead, onDeadLetters, activity, leasedWork },
      chance: parts.chance,
    })
    const dispatcher = new Dispatcher({
      ...{ database, isolation, clock, signals, pollMs: config.pollMs, logger },
      mayLease: (workerId) => this.workerSessions.mayLease(workerId),
      queueOf: (pool) => queues.of(pool, (lane, highest) => virtualTimes.leased(pool, lane, highest)),
      onUndelivered: (leases) => this.workerSessions.undelivered(leases),
      ...{ activity, leasedWork },
    })
    const partitioner = new Partitioner({ database, clock, logger })
    const sweeper = new Sweeper({
      database,
      isolation,
      signals,
      logger,
      liveness,
      lostMs: config.workerLostMs,
      onDead: (executionIds) => {
        onDeadLetters(executionIds.map((executionId) => ({ executionId, reason: 'DEADLINE', error: null })))
        onDead(executionIds)
        byId.ended('DEAD', executionIds)
      },
      onSkipped: (executionIds) => byId.ended('SKIPPED', executionIds),
      end: async ({ executionId, fence }, said) =>
        (await completion.end({ executionId, fence, actor: 'sweeper', from: 'NODE', said })) === 'ACCEPTED',
    })
    const sampler = new Sampler({
      ...{ database, clock, leadership, metrics: this.metrics.sampled, everyMs: figuresEveryMs, logger },
    })
    const duties = new Duties({
      ...{ leadership, logger, metrics: this.metrics.node },
      duties: installationDuties({
        ...{ config, database, clock, isolation, logger, sweeper, partitioner, onMoved, monotonic: parts.monotonic },
        tzVersion: parts.tzVersion ?? process.versions.tz ?? 'unknown',
        settleDedupes: () => this.#dedupeSettler.runOnce(),
      }),
    })
    this.database = database
    this.clock = clock
    this.signals = signals
    this.liveness = liveness
    this.tag = tag
    const pools = new KnownPools(database)
    const quotas = new TenantQuotas({ database, signals, clock, logger })
    this.quotas = quotas
    const openStream = (tenant: string) => quotas.openStream(tenant)
    database.onQuotaExceeded = (quota) => metrics.node.quotaExceeded(quota)
    this.tenants = new DeclaredTenants({ database, signals, undeclared: config.undeclaredTenants })
    const handOver = new HandOver({
      ...{ database, virtualTimes, weightOf },
      fill: (pool, write) => dispatcher.fill(pool, write),
    })
    const submitter = new Submitter({ database, tag, signals, handOver, receipts, onMoved, activity })
    this.jobs = new Jobs({
      ...{ database, signals, clock, tag, pools, targets: options.targets ?? workersOnly, onMoved, activity },
    })
    this.submissions = new Submissions({ database, clock, jobs: this.jobs, submitter, quotas, activity })
    this.#dedupeSettler = new DedupeSettler({ database, clock, jobs: this.jobs, submitter, activity, logger })
    this.ends = new Ends({ statusReads, signals, logger })
    this.events = new Events({ database, openStream, logger, isolation })
    this.logFeed = new LogFeed({ database, openStream, signals, logger })
    const publishers =
      config.publishEvents === undefined
        ? []
        : [
            new KafkaPublisher({
              ...{ database, isolation, leadership, nodeName: config.nodeName, logger },
              address: kafkaPlace(config.publishEvents, 'publishEvents'),
              onAway: (away) => this.metrics.seams.serverAway('kafka', 'events', away),
              onPublished: (topic, count) => this.metrics.seams.published(topic, count),
            }),
          ]
    this.executions = new Executions({
      ...{ database, statusReads, signals, clock, jobs: this.jobs, ends: this.ends },
      onCancelled: (ids) => byId.ended('CANCELLED', ids),
    })
    this.dags = new Dags({ database, clock, jobs: this.jobs })
    this.dagRuns = new DagRuns({
      ...{ database, clock, signals, activity, metrics: metrics.runs },
      onCancelled: (ids) => byId.ended('CANCELLED', ids),
    })
    const { jobs, dags, dagRuns } = this
    this.startedRuns = new StartedRuns({ database, clock, jobs, dags, dagRuns })
    const runEnds = new RunEnds({ database, clock, end: (told) => completion.end(told) })
    const advancer = new Advancer({
      ...{ database, leadership, signals, clock, tag, pollMs: config.pollMs, logger },
      tellEnd: (run) => runEnds.tell(run),
      figures: new RunFigures({ database, clock, metrics: metrics.runs }),
      onEnded: (state, ids) => byId.ended(state, ids),
    })
    this.explainer = new Explainer({ database, clock, executions: this.executions, suspectMs: config.workerSuspectMs })
    const operator = new Operator({
      ...{ database, signals, clock, logger, isolation, everyMs: config.pollMs, tag, onMoved },
      onSubmitted: (items) => {
        onSubmitted(items)
        byId.created(
          'SUBMIT',
          items.map(({ executionId }) => executionId),
        )
      },
      onCancelled: (ids) => byId.ended('CANCELLED', ids),
      onBackfilled: (ids) => byId.created('BACKFILL', ids),
    })
    this.operations = new Operations({ database, clock, pools, wake: () => operator.wake() })
    this.quarantine = new Quarantine({ database, jobs: this.jobs, signals, clock })
    this.submitter = submitter
    this.workerSessions = new WorkerSessions({
      ...{ database, liveness, nodeId: this.nodeId, dispatcher, completion, signals, clock, logger },
      times: {
        heartbeatEveryMs: config.heartbeatEveryMs,
        suspectAfterMs: config.workerSuspectMs,
        lostAfterMs: config.workerLostMs,
        logEveryMs,
      },
      maxWaiting: config.maxWaiting,
      monotonic: parts.monotonic,
      maxPools: config.maxPoolsPerTenant,
    })
    this.completion = completion
    this.metrics.node.readFrom(() => ({
      clockOffsetMs: clock.offsetMs,
      connections: database.connections,
      workers: this.workerSessions.workerIds().length,
    }))
    this.#failures = new FailureWatch({ database, jobs: this.jobs, logger })
    this.tokens = new BoundTokens(database)
    this.#partitioner = partitioner
    this.#clockOffset = clockOffset
    this.byHand = {
      fire: () => this.#dedupeSettler.runOnce().then(() => scheduler.runOnce()),
      admit: () => limiter.runOnce(),
      advance: () => advancer.runOnce(),
      sweep: () => sweeper.runOnce(),
      compareHeld: () => this.workerSessions.compareHeld(),
      operate: () => operator.runOnce(),
      pauseFailing: () => this.#failures.idle(),
    }
    const nodeRecorder = new NodeRecorder({
      ...{ database, clock, logger, nodeId: this.nodeId, node: this.node },
      workers: () => this.workerSessions.workerIds().length,
      away: () => this.metrics.seams.serversAway(),
    })
    const listeners = [this.ends, this.events, this.logFeed]
    this.#services = [
      ...[clockOffset, ...connections, signals, keepAlive, leadership, ...admission.services, quotas],
      ...[dispatcher, this.workerSessions],
      ...[this.forecasts, liveness, scheduler, advancer, duties, sampler, recorder, nodeRecorder],
      ...[...listeners, ...publishers, operator, receipts],
    ]
    this.#stopOrder = [
      ...[nodeRecorder, this.forecasts, ...publishers, operator, ...listeners.toReversed()],
      ...[this.workerSessions, sampler, duties, liveness, scheduler, advancer, receipts, dispatcher, recorder],
      ...[quotas, ...admission.services.toReversed(), leadership, keepAlive, signals, ...connections, clockOffset],
    ]
  }

  /**
   * A database that does not answer at all fails the start at once. After its first answer, transient trouble is waited
   * out for `startPatienceMs`. A start that fails leaves nothing running.
   */
  async start(): Promise<void> {
    const { shardCount, partitionHours, retentionDays } = this.#config
    try {
      await this.#requireSessions()
      await this.#step(() => migrate(this.database, { shardCount, partitionHours, retentionDays }))
      await this.#step(() => this.#clockOffset.runOnce())
      // The days needed now must be there before anything is written.
      await this.#step(() => this.#partitioner.createMissing())
      for (const service of this.#services) {
        this.#started.add(service)
        await this.#step(() => service.start())
      }
      this.#logger.info({ nodeId: this.nodeId, node: this.#config.nodeName }, 'the node has started')
    } catch (error) {
      await this.#stopServices()
      await this.database.end()
      throw error
    }
  }

  async stop(): Promise<void> {
    await this.submitter.idle()
    await this.completion.idle()
    await this.#stopServices()
    await this.completion.idle()
    await this.#failures.idle()
    await this.database.end()
    this.#logger.info({ nodeId: this.nodeId, node: this.#config.nodeName }, 'the node has stopped')
  }

  /** The first question to the database. */
  async #requireSessions(): Promise<void> {
    const { databaseUrl, directUrl } = this.#config
    if (this.#ownDatabase)
      await requireSessions(directUrl ?? databaseUrl, directUrl === undefined ? '/databaseUrl' : '/directUrl')
  }

  #step<T>(work: () => Promise<T>): Promise<T> {
    const onTrouble = (error: unknown, retryInMs: number) =>
      this.#logger.warn({ err: error, retryInMs }, 'the database is in trouble; the start goes on')
    return waitOut(work, { forMs: startPatienceMs, onTrouble })
  }

  async #stopServices(): Promise<void> {
    for (const service of this.#stopOrder.filter((each) => this.#started.delete(each))) {
      // The database may be gone: the other nodes notice that without our help.
      await service.stop().catch((error: unknown) => {
        this.#logger.warn({ err: error }, 'a service failed to stop cleanly')
      })
    }
  }
}
