/** The versions of the seams that the settings ask for: PostgreSQL's unless another server is named. */
import type { EngineConfig } from './config/engine-config.ts'
import { etcdPlace } from './config/etcd-place.ts'
import { kafkaPlace } from './config/kafka-place.ts'
import { redisAddress } from './config/redis-address.ts'
import type { DueSource } from './due-source/port.ts'
import { PostgresDueSource } from './due-source/postgres.ts'
import { RedisDueSource } from './due-source/redis.ts'
import type { KeepAlive } from './keep-alive/keep-alive.ts'
import { EtcdLeadership } from './leadership/etcd.ts'
import type { Leadership } from './leadership/port.ts'
import { PostgresLeadership } from './leadership/postgres.ts'
import type { Clock } from './lib/clock.ts'
import type { Service } from './lib/service.ts'
import type { WorkerLiveness } from './liveness/port.ts'
import { PostgresLiveness } from './liveness/postgres.ts'
import { RedisLiveness } from './liveness/redis.ts'
import type { Logger } from './observability/logger.ts'
import type { Metrics } from './observability/metrics.ts'
import { KafkaQueues } from './queue/kafka/queues.ts'
import type { Queues } from './queue/port.ts'
import { postgresQueues } from './queue/postgres.ts'
import { RedisConnection } from './redis/connection.ts'
import { NotifySignals } from './signals/notify.ts'
import type { Signals } from './signals/port.ts'
import { RedisSignals } from './signals/redis.ts'
import type { StatusReads } from './status-reads/port.ts'
import { PostgresStatusReads } from './status-reads/postgres.ts'
import { RedisStatusReads } from './status-reads/redis.ts'
import type { Database } from './store/database.ts'
import { readInstallation } from './store/partitions/manage.ts'
import type { Isolation } from './store/quarantine/isolation.ts'
import { readLiveNodes } from './store/shards/nodes.ts'

/** What a status read that Redis cannot answer waits for others to be read with it. */
const statusGatherMs = 5

export interface Seams {
  leadership: Leadership
  dueSource: DueSource
  queues: Queues
  signals: Signals
  liveness: WorkerLiveness
  statusReads: StatusReads
}

export interface SeamWiring {
  config: EngineConfig
  nodeId: string
  database: Database
  isolation: Isolation
  keepAlive: KeepAlive
  clock: Clock
  metrics: Metrics
  logger: Logger
  /** The workers that this node serves. */
  workers: () => string[]
}

/** `given` replaces versions, for tests and simulation. `connections` are started before everything that uses them. */
export function chooseSeams(wiring: SeamWiring, given: Partial<Seams>): Seams & { connections: Service[] } {
  const { config, nodeId, database, isolation, keepAlive, clock, metrics, logger, workers } = wiring
  const { nodeName, leaseMs, lifeMs } = config
  const electing = {
    ...{ database, keepAlive, everyMs: config.renewEveryMs, logger },
    lease: { nodeId, nodeName, leaseMs, lifeMs },
  }
  const leadership =
    given.leadership ??
    (config.leadership === undefined
      ? new PostgresLeadership(electing)
      : new EtcdLeadership({
          ...{ ...electing, place: etcdPlace(config.leadership) },
          onAway: (away) => metrics.seams.serverAway('etcd', 'leadership', away),
        }))
  const alone = () => leadership.alone()
  const watching = { database, keepAlive, logger, everyMs: config.sweepEveryMs, lostMs: config.workerLostMs }
  const connections = new Map<string, RedisConnection>()
  const installationId = async () => (await readInstallation(database)).installationId
  const onFallback = (seam: string) => () => metrics.seams.fellBack(seam)
  /** Seams that name the same Redis share a connection. */
  const connect = (setting: 'hotWindow' | 'signals'): RedisConnection | null => {
    const url = config[setting]
    if (url === undefined) return null
    const known = connections.get(url)
    if (known !== undefined) return known
    const redis = new RedisConnection({ address: redisAddress(url, setting), installationId, logger })
    redis.onAway(() => metrics.seams.serverAway('redis', setting, true))
    redis.onBack(() => metrics.seams.serverAway('redis', setting, false))
    connections.set(url, redis)
    return redis
  }
  const window = connect('hotWindow')
  const reading = { database, clock, isolation }
  const dueSource =
    given.dueSource ??
    (window === null
      ? new PostgresDueSource(reading)
      : new RedisDueSource({ ...reading, redis: window, logger, onFallback: onFallback('due source') }))
  const kafka =
    config.queue === undefined || given.queues
      ? null
      : new KafkaQueues({
          ...{ address: kafkaPlace(config.queue, 'queue'), database, clock, nodeName, installationId, logger },
          figures: metrics.seams.relay,
          onFallback: onFallback('queue'),
          onAway: (away) => metrics.seams.serverAway('kafka', 'queue', away),
        })
  const redis = connect('signals')
  const shared = {
    ...{ leadership, dueSource, queues: given.queues ?? kafka ?? postgresQueues(clock) },
    connections: [...connections.values(), ...(kafka === null ? [] : [kafka])],
  }
  if (redis === null) {
    return {
      ...shared,
      signals: given.signals ?? new NotifySignals({ database, nodeId, alone, logger }),
      liveness: given.liveness ?? new PostgresLiveness(watching),
      statusReads: given.statusReads ?? new PostgresStatusReads(database),
    }
  }
  const notify = new NotifySignals({ database, nodeId, alone, hearsOtherwise: () => !redis.isAway(), logger })
  const liveNodes = () => readLiveNodes(database)
  return {
    ...shared,
    signals:
      given.signals ??
      new RedisSignals({ redis, notify, nodeId, alone, liveNodes, workers, logger, onFallback: onFallback('signals') }),
    liveness: given.liveness ?? new RedisLiveness({ ...watching, redis, onFallback: onFallback('liveness') }),
    statusReads:
      given.statusReads ??
      new RedisStatusReads({
        ...{ redis, clock, postgres: new PostgresStatusReads(database) },
        gathering: new PostgresStatusReads(database, { gatherMs: statusGatherMs }),
        onFallback: onFallback('status reads'),
        onRead: (isHit) => metrics.seams.statusRead(isHit),
      }),
  }
}
