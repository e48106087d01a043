/**
 * The installation a run is about: a PostgreSQL of its own, nodes and workers as processes, and a way that can be cut between
 * any two that speak to each other. Nodes reach the database by a way each; a worker has a way to each node, and so has the
 * client. Everything is on loopback, and all of it ends with the stage.
 */
import { copyFile, cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EngineSettings } from '@carillon/server'
import { createApiKey, migrateDatabase } from '@carillon/server/administration'
import pg from 'pg'
import { Database } from '../../packages/server/src/store/database.ts'
import { putLimit } from '../../packages/server/src/store/limits/declared.ts'
import { shippedSettings } from '../../test/support/stock-postgres.ts'
import type { Run } from '../history.ts'
import { limitsOf } from './job-mix.ts'
import type { NodeProcessOptions, NodeProcessWord } from './node-process.ts'
import { PostgresServer } from './postgres-server.ts'
import type { ScaleOut } from './scale-out.ts'
import { Seat } from './seat.ts'
import { TcpProxy } from './tcp-proxy.ts'
import { parseRuns, type WorkerProcessOptions } from './worker-process.ts'

export interface StageOptions {
  nodes: number
  workers: number
  /** Of each worker. */
  slots: number
  tenants: string[]
  engine: EngineSettings
  /** Folder of PostgreSQL's programs; those that Carillon brings if not given. */
  postgres?: string
  /** Servers that the nodes use besides PostgreSQL; the caller ends them. */
  scaleOut?: ScaleOut
}

export interface NodeSeat {
  seat: Seat
  /** Its way to the database. */
  toDatabase: TcpProxy
}

export interface WorkerSeat {
  seat: Seat
  /** Its ways to the nodes, in their order. */
  toNodes: TcpProxy[]
  runsFile: string
}

export interface Tokens {
  worker: string
  /** By tenant. */
  tenants: Map<string, string>
}

const nodeProgram = new URL('./node-process.ts', import.meta.url)
const workerProgram = new URL('./worker-process.ts', import.meta.url)
const skewedClock = new URL('./skewed-clock.ts', import.meta.url)
export const maxConnections = 80

export class Stage {
  readonly folder: string
  readonly postgres: PostgresServer
  readonly nodes: NodeSeat[] = []
  readonly workers: WorkerSeat[] = []
  readonly clientUrls: string[] = []
  readonly scaleOut: ScaleOut | null
  tokens: Tokens = { worker: '', tenants: new Map() }
  readonly #proxies: TcpProxy[] = []
  readonly #ports: number[] = []
  readonly #logs: string

  private constructor(folder: string, { postgres, scaleOut }: StageOptions) {
    this.folder = folder
    this.scaleOut = scaleOut ?? null
    this.#logs = join(folder, 'logs')
    this.postgres = new PostgresServer({
      dataDir: join(folder, 'postgres'),
      logFile: join(this.#logs, 'postgres.log'),
      settings: { ...(postgres && shippedSettings), max_connections: `${maxConnections}` },
      binaries: postgres,
    })
  }

  static async open(options: StageOptions): Promise<Stage> {
    const stage = new Stage(await mkdtemp(join(tmpdir(), 'carillon-chaos-')), options)
    try {
      await stage.#build(options)
      return stage
    } catch (error) {
      await stage[Symbol.asyncDispose]()
      throw error
    }
  }

  get seats(): Seat[] {
    return [...this.nodes, ...this.workers].map(({ seat }) => seat)
  }

  /** Straight to the database. Whoever asks must expect that it is away. */
  async query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    const client = await this.connect()
    try {
      return (await client.query<Row & pg.QueryResultRow>(text, values)).rows
    } finally {
      await client.end().catch(() => {})
    }
  }

  async connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.postgres.url, connectionTimeoutMillis: 2_000 })
    client.on('error', () => {})
    await client.connect()
    return client
  }

  /** What the workers wrote down, all there ever were. */
  async runs(): Promise<Run[]> {
    const all: Run[] = []
    for (const { seat, runsFile } of this.workers) {
      for (const run of parseRuns(seat.name, await readFile(runsFile, 'utf8').catch(() => ''))) all.push(run)
    }
    return all
  }

  /** Every way open, every process up. */
  async heal(): Promise<void> {
    for (const proxy of this.#proxies) proxy.letGo('RESET')
    await this.scaleOut?.heal()
    if (!this.postgres.isUp) await this.postgres.start()
    for (const seat of this.seats) seat.signal('SIGCONT')
    await Promise.all(this.seats.filter((seat) => !seat.isUp).map((seat) => seat.start()))
  }

  /** Copies the logs of all processes and what the workers wrote down, for someone who looks for a cause. */
  async copyLogs(to: string): Promise<void> {
    await cp(this.#logs, join(to, 'logs'), { recursive: true })
    for (const { seat, runsFile } of this.workers) {
      await copyFile(runsFile, join(to, `${seat.name}.runs`)).catch(() => {})
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.seats.map((seat) => seat.close()))
    await Promise.all(this.#proxies.map((proxy) => proxy.close()))
    await this.postgres.close()
    await rm(this.folder, { recursive: true, force: true })
  }

  async #build(options: StageOptions): Promise<void> {
    const logs = this.#logs
    await mkdir(logs)
    await this.postgres.start()
    await migrateDatabase({ databaseUrl: this.postgres.url })
    this.tokens = await makeKeys(this.postgres.url, options.tenants)
    for (let n = 0; n < options.nodes; n++) await this.#addNode(n, options.engine, logs)
    await Promise.all(this.nodes.map(({ seat }) => seat.start()))
    for (let n = 0; n < options.workers; n++) await this.#addWorker(n, options.slots, logs)
    await Promise.all(this.workers.map(({ seat }) => seat.start()))
    for (const proxy of await this.#waysToNodes()) this.clientUrls.push(urlOf(proxy))
  }

  async #addNode(n: number, engine: EngineSettings, logs: string): Promise<void> {
    const name = `node-${n + 1}`
    const toDatabase = await this.#proxy(() => this.postgres.port)
    const databaseUrl = new URL(this.postgres.url)
    databaseUrl.port = `${toDatabase.port}`
    const options: NodeProcessOptions = {
      databaseUrl: databaseUrl.href,
      engine: { ...engine, ...this.scaleOut?.settingsOf(n), nodeName: name },
    }
    const onStarted = (said: unknown) => {
      this.#ports[n] = (said as NodeProcessWord).port
    }
    const logFile = join(logs, `${name}.log`)
    const seat = new Seat({ name, program: nodeProgram, options, logFile, preload: skewedClock, onStarted })
    this.nodes.push({ seat, toDatabase })
  }

  async #addWorker(n: number, slots: number, logs: string): Promise<void> {
    const name = `worker-${n + 1}`
    const toNodes = await this.#waysToNodes()
    const runsFile = join(this.folder, `${name}.runs`)
    const options: WorkerProcessOptions = {
      ...{ name, runsFile, slots, token: this.tokens.worker },
      // Each begins at another node.
      urls: toNodes.map((_, i) => urlOf(toNodes[(i + n) % toNodes.length]!)),
    }
    const seat = new Seat({ name, program: workerProgram, options, logFile: join(logs, `${name}.log`) })
    this.workers.push({ seat, toNodes, runsFile })
  }

  #waysToNodes(): Promise<TcpProxy[]> {
    return Promise.all(this.nodes.map((_, n) => this.#proxy(() => this.#ports[n]!)))
  }

  async #proxy(target: () => number): Promise<TcpProxy> {
    const proxy = await TcpProxy.open(target)
    this.#proxies.push(proxy)
    return proxy
  }
}

function urlOf({ port }: TcpProxy): string {
  return `http://127.0.0.1:${port}`
}

/** And the limits that the work names. */
async function makeKeys(url: string, tenants: string[]): Promise<Tokens> {
  const database = new Database({ url, maxConnections: 1, statementTimeoutMs: 10_000, applicationName: 'chaos' })
  try {
    const worker = await createApiKey(database, { name: 'chaos', tenant: null, scopes: ['work'] })
    const keys = new Map<string, string>()
    for (const tenant of tenants) {
      const { key } = await createApiKey(database, { name: 'chaos', tenant, scopes: ['jobs:read', 'jobs:write'] })
      keys.set(tenant, key)
    }
    for (const limit of limitsOf(tenants)) {
      const what = { for: 'KEY', subject: null, rate: null, description: null, version: null, actor: 'chaos' } as const
      await putLimit(database, { ...limit, ...what })
    }
    return { worker: worker.key, tenants: keys }
  } finally {
    await database.end()
  }
}
