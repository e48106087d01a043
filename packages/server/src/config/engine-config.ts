/** The engine's settings: checked once, relations included, then frozen. */
import { hostname } from 'node:os'
import { CarillonError, checkOptions, defaults } from '@carillon/contract'
import { etcdPlace } from './etcd-place.ts'
import { kafkaPlace } from './kafka-place.ts'
import { redisAddress } from './redis-address.ts'

export interface EngineConfig {
  /** For people, in logs and lists; host and process id unless given. */
  readonly nodeName: string
  /**
   * The PostgreSQL database of the installation, `postgres://user:password@host:5432/database`, or a pooler before it that
   * lends connections by the transaction, such as PgBouncer.
   */
  readonly databaseUrl: string
  /** Behind such a pooler: a URL of PostgreSQL itself, for LISTEN, locks and migrations. */
  readonly directUrl?: string
  /**
   * What elects the leaders of shards: `etcd://host:2379,host:2379`, with `?fallback=postgres` PostgreSQL while etcd is away. Leases of
   * the nodes in PostgreSQL unless given. All nodes of an installation have the same; it is changed by a rolling restart.
   */
  readonly leadership?: string
  /**
   * Redis, for what is due in the coming hour: the same URLs as `signals`. PostgreSQL unless given, and while Redis is away.
   */
  readonly hotWindow?: string
  /**
   * Redis, for signals between nodes, heartbeats of workers and the status of executions: `redis://host:6379`, `rediss://…`,
   * `redis+sentinel://host:26379,host:26379/master`, `redis+cluster://host:6379,host:6379`. PostgreSQL unless given, and while Redis is away.
   */
  readonly signals?: string
  /**
   * Kafka, for telling nodes which executions are ready: `kafka://host:9092,host:9092/prefix`, `kafkas://…` with TLS. Every node reads
   * PostgreSQL unless given, and while Kafka is away.
   */
  readonly queue?: string
  /**
   * Kafka, to which events, dead letters and the audit are published: `kafka://host:9092,host:9092/prefix` writes the topics
   * `prefix.events`, `prefix.dead-letters` and `prefix.audit`. All nodes of an installation have the same. Leaving it out later does not end
   * the subscription: `carillon events unsubscribe kafka` does.
   */
  readonly publishEvents?: string
  /** Whether a tenant that is not declared may bring new work. All nodes of an installation have the same. */
  readonly undeclaredTenants: UndeclaredTenants
  /** Connections of this node, besides one for its keep-alive thread. */
  readonly maxConnections: number
  /** Set at the creation of an installation; later nodes take what is there. */
  readonly shardCount: number
  /** How much time one partition of the history holds. Set at the creation of an installation. */
  readonly partitionHours: number
  /** How long history is kept. Set at the creation of an installation. */
  readonly retentionDays: number
  /** How long a node may be silent before others take its shards. */
  readonly leaseMs: number
  /** How often a node renews its lease on its shards; at most half of `leaseMs`. */
  readonly renewEveryMs: number
  /** How long the main thread may be busy before the node gives up its shards. */
  readonly lifeMs: number
  /** How long a statement may take; below `leaseMs`, so that a frozen leader holds no lock past its lease. */
  readonly statementTimeoutMs: number
  /** How often a node looks for due work when no hint comes. */
  readonly pollMs: number
  /** How far ahead of their time jobs are read. */
  readonly windowMs: number
  /** How often workers say that they live; at most half of `workerLostMs`. */
  readonly heartbeatEveryMs: number
  /** After this much silence a worker loses its leases. */
  readonly workerLostMs: number
  /** After this much silence a worker gets no new leases. Half of workerLostMs unless given. */
  readonly workerSuspectMs: number
  /** Long polls of workers that may be open at this node at once. */
  readonly maxWaiting: number
  /** How long a long poll may wait; behind a proxy that gives up sooner, less than it. */
  readonly maxPollMs: number
  /** How often the sweeper looks for lost workers, overdue attempts and deadlines. */
  readonly sweepEveryMs: number
  /** Pools of its own that a tenant may have. */
  readonly maxPoolsPerTenant: number
  /** How often figures for metrics are read from tables, and what a node has counted is written for `GET /v1/stats`. */
  readonly figuresEveryMs: number
  /** How long events that a subscription has not delivered are kept; older ones are dropped, and it has a gap. */
  readonly undeliveredEventsMs: number
  /** How many of them are kept at most. A million takes about 0.3 GB. */
  readonly undeliveredEventsMost: number
}

export const undeclaredTenantsChoices = ['accept', 'refuse'] as const
export type UndeclaredTenants = (typeof undeclaredTenantsChoices)[number]

export type EngineSettings = Partial<EngineConfig>

/** Ranges and defaults. */
export const engineNumbers: Record<
  Exclude<
    keyof EngineConfig,
    | 'nodeName'
    | 'databaseUrl'
    | 'directUrl'
    | 'leadership'
    | 'hotWindow'
    | 'signals'
    | 'queue'
    | 'publishEvents'
    | 'undeclaredTenants'
  >,
  { value: number; min: number; max: number }
> = {
  maxConnections: { value: 10, min: 3, max: 1_000 },
  shardCount: { value: 64, min: 1, max: 1_024 },
  partitionHours: { value: 24, min: 1, max: 24 * 31 },
  retentionDays: { value: defaults.retentionDays, min: 1, max: 3_650 },
  leaseMs: { value: 2_000, min: 200, max: 60_000 },
  renewEveryMs: { value: 500, min: 20, max: 30_000 },
  lifeMs: { value: 5_000, min: 100, max: 600_000 },
  statementTimeoutMs: { value: 1_800, min: 100, max: 60_000 },
  pollMs: { value: 1_000, min: 10, max: 60_000 },
  windowMs: { value: 5_000, min: 100, max: 600_000 },
  heartbeatEveryMs: { value: 5_000, min: 50, max: 60_000 },
  workerLostMs: { value: 30_000, min: 200, max: 3_600_000 },
  workerSuspectMs: { value: 15_000, min: 100, max: 3_600_000 },
  maxWaiting: { value: 20_000, min: 1, max: 1_000_000 },
  maxPollMs: { value: 60_000, min: 10, max: 600_000 },
  sweepEveryMs: { value: 1_000, min: 20, max: 60_000 },
  maxPoolsPerTenant: { value: 100, min: 1, max: 100_000 },
  figuresEveryMs: { value: 10_000, min: 20, max: 60_000 },
  undeliveredEventsMs: { value: 86_400_000, min: 1_000, max: 30 * 86_400_000 },
  undeliveredEventsMost: { value: 10_000_000, min: 1_000, max: 10_000_000_000 },
}

export const engineSettingNames = [
  'nodeName',
  'databaseUrl',
  'directUrl',
  'leadership',
  'hotWindow',
  'signals',
  'queue',
  'publishEvents',
  'undeclaredTenants',
  ...Object.keys(engineNumbers),
]

export function engineConfig(settings: EngineSettings): EngineConfig {
  checkOptions(settings, engineSettingNames, { what: 'the settings of a node', code: 'CONFIG_INVALID' })
  if (!settings.databaseUrl) {
    throw invalid(
      'databaseUrl',
      'is missing',
      'Give the URL of a PostgreSQL database, or ask for `embedded: { dataDir }`',
    )
  }
  for (const key of ['databaseUrl', 'directUrl'] as const) {
    const url = settings[key]
    if (url !== undefined && !URL.canParse(url))
      throw invalid(key, 'is not a URL', 'postgres://user:password@host:5432/database')
  }
  if (settings.leadership !== undefined) etcdPlace(settings.leadership)
  for (const key of ['hotWindow', 'signals'] as const) {
    const url = settings[key]
    if (url !== undefined) redisAddress(url, key)
  }
  if (settings.queue !== undefined) kafkaPlace(settings.queue, 'queue')
  if (settings.publishEvents !== undefined) kafkaPlace(settings.publishEvents, 'publishEvents')
  const { undeclaredTenants = 'accept' } = settings
  if (!undeclaredTenantsChoices.includes(undeclaredTenants))
    throw invalid('undeclaredTenants', `is none of ${undeclaredTenantsChoices.join(', ')}`)
  const config: Record<string, unknown> = {
    undeclaredTenants,
    nodeName: settings.nodeName ?? `${hostname()}-${process.pid}`,
    databaseUrl: settings.databaseUrl,
    ...(settings.directUrl !== undefined && { directUrl: settings.directUrl }),
    ...(settings.leadership !== undefined && { leadership: settings.leadership }),
    ...(settings.hotWindow !== undefined && { hotWindow: settings.hotWindow }),
    ...(settings.signals !== undefined && { signals: settings.signals }),
    ...(settings.queue !== undefined && { queue: settings.queue }),
    ...(settings.publishEvents !== undefined && { publishEvents: settings.publishEvents }),
  }
  const half = settings.workerLostMs === undefined ? undefined : Math.floor(settings.workerLostMs / 2)
  const wanted: EngineSettings = { ...settings, workerSuspectMs: settings.workerSuspectMs ?? half }
  for (const [key, { value, min, max }] of Object.entries(engineNumbers)) {
    const given = wanted[key as keyof typeof engineNumbers] ?? value
    if (!Number.isInteger(given) || given < min || given > max) {
      throw invalid(key, `${given} is not a whole number from ${min} to ${max}`)
    }
    config[key] = given
  }
  const result = config as unknown as EngineConfig
  if (result.renewEveryMs > result.leaseMs / 2) {
    throw invalid('renewEveryMs', 'must be at most half of leaseMs', 'One late renewal must not cost the lease')
  }
  if (result.statementTimeoutMs >= result.leaseMs) {
    throw invalid(
      'statementTimeoutMs',
      'must be below leaseMs',
      'A frozen leader must not hold its locks past its lease',
    )
  }
  if (result.windowMs < result.pollMs) {
    throw invalid('windowMs', 'must be at least pollMs', 'What is due between two polls must be in the window')
  }
  if (result.heartbeatEveryMs > result.workerLostMs / 2) {
    throw invalid(
      'heartbeatEveryMs',
      'must be at most half of workerLostMs',
      'One late heartbeat must not lose a worker',
    )
  }
  if (result.heartbeatEveryMs >= result.workerSuspectMs || result.workerSuspectMs >= result.workerLostMs) {
    throw invalid(
      'workerSuspectMs',
      'must lie between heartbeatEveryMs and workerLostMs',
      'A worker is suspected after a missed heartbeat, and before it is taken for lost',
    )
  }
  return Object.freeze(result)
}

function invalid(key: string, message: string, hint?: string): CarillonError {
  return new CarillonError('CONFIG_INVALID', { pointer: `/${key}`, message: `${key} ${message}`, hint })
}
