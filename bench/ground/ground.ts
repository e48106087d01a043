/**
 * The ground all scenarios stand on: one PostgreSQL 18 with the settings Carillon ships, in a temporary folder, for the
 * whole run. Everything started on it ends with it and every folder goes, also on failure and on Ctrl-C.
 */
import type { ChildProcess } from 'node:child_process'
import type { EngineSettings } from '@carillon/server'
import type { Cpu, Role } from '../measure/cpu.ts'
import type { ScaleOutUrls } from './scale-out-servers.ts'

/** Ends and takes away what it stands for. May be called again. */
export interface Closable {
  [Symbol.asyncDispose](): Promise<void>
}

export interface Ground extends Closable {
  /** Of the server's own database, for whoever creates databases. */
  readonly serverUrl: string
  /** A folder for files; removed at the end. */
  readonly folder: string
  /** A Carillon with history, tenants and keys, on a database of its own. */
  installation(options?: InstallationOptions): Promise<Installation>
  /** Redis, etcd and Kafka. They are started when they are asked for first, and end with the ground. */
  scaleOut(): Promise<ScaleOutUrls>
  /** An empty database on the same server, for a peer. */
  emptyDatabase(): Promise<EmptyDatabase>
  /**
   * Load in a process of its own: `module` default-exports a `Load`, which is called there with `options` (JSON). Resolves
   * once it runs.
   */
  generate<Answer>(module: URL, options: object): Promise<Generator<Answer>>
  /**
   * Any other program that counts for a role: it gets its options as JSON in argv[2] and says what `said` is, one IPC
   * message, once it is ready. Killed with the ground unless it has ended.
   */
  start<Said>(role: Role, program: URL, options: object): Promise<Started<Said>>
  /** What each role has used since the ground was opened. Take it before and after, and see `cpuBetween`. */
  cpu(): Promise<Cpu>
  /** Rejects when a process ends that nobody ended; from then on a new one stands for what comes after. */
  readonly broken: Promise<never>
  /** Ends all processes, after a scenario that failed. */
  clear(): Promise<void>
}

export interface Started<Said> extends Closable {
  child: ChildProcess
  said: Said
}

export interface EmptyDatabase extends Closable {
  url: string
}

export interface Generator<Answer> {
  /** What the load returned; rejects with what it threw. */
  answer: Promise<Answer>
  /** Settles when the load has called `ready`. */
  ready: Promise<void>
  /** Lets a load go on that waits in `ready`. */
  go(): void
  /** What it said last with `say`. */
  said(): unknown
  /** For whoever listens there with `onTold`. */
  tell(word: unknown): void
  /** Aborts the load's signal. Its answer still comes. */
  stop(): void
}

/** What a module of load exports as default. */
export type Load<Options, Answer> = (options: Options, control: LoadControl) => Promise<Answer>

export interface LoadControl {
  signal: AbortSignal
  /** For loads that have something to set up which should not be measured: waits for the generator's `go`. */
  ready(): Promise<void>
  say(word: unknown): void
  onTold(listen: (word: unknown) => void): void
}

export interface InstallationOptions {
  /** 1 unless given. */
  nodes?: number
  /** Of every node, besides the database. */
  settings?: EngineSettings
  /** Nodes and workers of another checkout instead, with its schema: the base of URLs. */
  checkout?: URL
}

export interface Installation extends Closable {
  readonly databaseUrl: string
  /** Of the nodes that have not been ended. */
  readonly urls: string[]
  readonly nodes: NodeProcess[]
  /** `tenant-1` to `tenant-100`. */
  readonly tenants: string[]
  /** One per tenant, in the same order: jobs:read and jobs:write. */
  readonly tokens: string[]
  /** Of the platform, scope work. */
  readonly workerToken: string
  /** Of the platform, every scope; with the header `carillon-tenant` it speaks for a tenant. */
  readonly adminToken: string
  /**
   * `port`: that of a node which has ended, to take its place; workers know the URLs they were started with. `settings`
   * instead of those of the installation.
   */
  startNode(options?: { port?: number; settings?: EngineSettings }): Promise<NodeProcess>
  /** Ends all nodes as SIGTERM does. Others may be started afterwards. */
  stopNodes(): Promise<void>
  /** Resolves when they are registered and wait for work. */
  startWorkers(count: number, options?: WorkersOptions): Promise<Workers>
  /** `request('POST /v1/pools/default/pause')`; as the platform unless a token is given. Throws unless it is answered 2xx. */
  request<Answer = unknown>(what: string, body?: unknown, token?: string): Promise<Answer>
  /** Of the database, for set-up and for counting. Statements have no time limit. */
  query<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>
  /** The database's clock, ms since 1970. */
  now(): Promise<number>
  /** What the ledger holds of executions whose nominal time is `since` (ms) or later. Reads them all: not for polling. */
  ledger(since: number): Promise<Ledger>
  /** Executions that are ready, and those that are running. */
  unfinished(): Promise<{ ready: number; running: number }>
}

export interface NodeProcess {
  child: ChildProcess
  url: string
  nodeId: string
}

export interface Ledger {
  total: number
  succeeded: number
  /** Neither succeeded nor otherwise ended. */
  unfinished: number
  /** Runs beyond the first and leases without a run, summed over all. */
  extraAttempts: number
  /** Ms since 1970; null: none. */
  firstStartedAt: number | null
  lastFinishedAt: number | null
}

export interface WorkersOptions {
  /** Of each handler; the default of `implementHandler` unless given. */
  concurrency?: number
  /** `handlerNames` of work.ts unless given. */
  handlers?: string[]
  /** One pool for all of them; `default` unless given. */
  pool?: string
  /** Keeps every run, for `runs`. */
  record?: boolean
}

/** Remote worker processes. */
export interface Workers extends Closable {
  readonly children: ChildProcess[]
  /** Handlers that have begun, as of some milliseconds ago. */
  count(): number
  /** Resolves when so many handlers have begun; rejects after `withinMs`. */
  reached(count: number, withinMs: number): Promise<void>
  /**
   * Resolves when so many have begun and nothing is held any more: every end was answered, and so committed. Answers when
   * that was, by `monotonicMs`.
   */
  finished(count: number, withinMs: number): Promise<number>
  /** What was recorded since this was asked last. */
  runs(): Promise<Run[]>
  /** Lets handlers end and leaves, as on SIGTERM. */
  stop(): Promise<void>
}

export interface Run {
  executionId: string
  dueAt: number
  /** When the handler began: by the wall clock, whole ms, to compare with `dueAt`. */
  startedAt: number
  /** The same by `monotonicMs`, to compare with another process. */
  startedMonotonic: number
}
