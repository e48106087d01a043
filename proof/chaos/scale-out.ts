/**
 * The servers that nodes use besides PostgreSQL in the profile `scale-out`, and a way that can be cut from every node to each of them.
 * The caller opens them before the stage and ends them after it.
 */
import type { EngineSettings } from '@carillon/server'
import type { KafkaListener } from '../../scripts/servers/kafka.ts'
import { freePort, type RunningServer } from '../../scripts/servers/process.ts'
import {
  type ScaleOutName,
  type ScaleOutServers,
  scaleOutNames,
  scaleOutSettings,
  startScaleOut,
} from '../../scripts/servers/scale-out.ts'
import { TcpProxy } from './tcp-proxy.ts'

export interface ScaleOutOptions {
  nodes: number
  /** Whether PostgreSQL elects leaders while etcd is away; without it nothing is fired meanwhile. */
  fallback: boolean
}

export class SideServer {
  readonly name: ScaleOutName
  readonly running: RunningServer
  /** By node. */
  readonly ways: readonly TcpProxy[]
  /** A fault is at work here: no other may be. */
  taken = false
  #isUp = true

  constructor(name: ScaleOutName, running: RunningServer, ways: readonly TcpProxy[]) {
    this.name = name
    this.running = running
    this.ways = ways
  }

  async kill(): Promise<void> {
    this.#isUp = false
    await this.running.kill()
  }

  async start(): Promise<void> {
    await this.running.restart()
    this.#isUp = true
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    process.kill(this.running.pid, signal)
  }

  async heal(): Promise<void> {
    for (const way of this.ways) way.letGo('RESET')
    if (this.#isUp) this.signal('SIGCONT')
    else await this.start()
  }
}

export class ScaleOut implements AsyncDisposable {
  readonly servers: readonly SideServer[]
  readonly fallback: boolean
  readonly #started: ScaleOutServers

  private constructor(started: ScaleOutServers, ways: Map<ScaleOutName, TcpProxy[]>, fallback: boolean) {
    this.#started = started
    this.fallback = fallback
    this.servers = scaleOutNames.map((name) => new SideServer(name, started.all.get(name)!, ways.get(name)!))
  }

  static async open({ nodes, fallback }: ScaleOutOptions): Promise<ScaleOut> {
    await using opened = new AsyncDisposableStack()
    // The ways come first: Kafka tells its clients where to connect to, so it has a listener for every node.
    const ports = new Map<ScaleOutName, () => number[]>()
    const ways = new Map<ScaleOutName, TcpProxy[]>()
    for (const name of scaleOutNames) {
      const own = Array.from({ length: nodes }, (_, n) => TcpProxy.open(() => ports.get(name)!()[n]!))
      ways.set(name, await Promise.all(own))
      for (const way of ways.get(name)!) opened.defer(() => way.close())
    }
    const listeners: [string, KafkaListener][] = []
    for (const [n, way] of (ways.get('kafka') ?? []).entries()) {
      listeners.push([`NODE${n + 1}`, { protocol: 'PLAINTEXT', port: await freePort(), advertisedPort: way.port }])
    }
    const started = opened.use(await startScaleOut({ kafka: { listeners: Object.fromEntries(listeners) } }))
    for (const [name, server] of started.all) ports.set(name, () => Array.from({ length: nodes }, () => server.port))
    ports.set('kafka', () => listeners.map(([, { port }]) => port))
    const kept = opened.move()
    const all = { ...started, [Symbol.asyncDispose]: () => kept.disposeAsync() }
    return new ScaleOut(all, ways, fallback)
  }

  /** Of a node, by its number. */
  settingsOf(node: number): EngineSettings {
    const urlOf = (name: ScaleOutName) => {
      const { running, ways } = this.servers.find((server) => server.name === name)!
      return running.url.replace(`:${running.port}`, `:${ways[node]!.port}`)
    }
    const settings = scaleOutSettings(urlOf)
    return this.fallback ? settings : { ...settings, leadership: urlOf('etcd') }
  }

  async heal(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.heal()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#started[Symbol.asyncDispose]()
  }
}
