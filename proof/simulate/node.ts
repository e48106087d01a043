/** A node of the world: the real engine, handed its connections, its signals and its thread by the simulation. */
import { type EngineSettings, engineConfig } from '../../packages/server/src/config/engine-config.ts'
import { targetConfig } from '../../packages/server/src/config/target-config.ts'
import { Engine } from '../../packages/server/src/main.ts'
import type { Logger } from '../../packages/server/src/observability/logger.ts'
import { Metrics } from '../../packages/server/src/observability/metrics.ts'
import { type BuiltInWorker, builtInWorker } from '../../packages/server/src/targets/built-in-worker.ts'
import { OperatorRules } from '../../packages/server/src/targets/target-rules.ts'
import { directTransport } from '../../packages/server/src/workers/direct-transport.ts'
import { SimulatedDatabase, type Tamper } from './database.ts'
import { SimulatedKeepAlive } from './keep-alive.ts'
import type { FaultLog, Network } from './network.ts'
import { Owner } from './owner.ts'
import type { Postgres } from './postgres.ts'
import type { Sessions } from './sessions.ts'
import type { SignalBus } from './signals.ts'
import type { Trace } from './trace.ts'
import type { World } from './world.ts'

export interface Surroundings {
  world: World
  network: Network
  faults: FaultLog
  postgres: Postgres
  sessions: Sessions
  bus: SignalBus
  trace: Trace
  logger: Logger
  settings: EngineSettings
  tamper?: Tamper
}

const restartMs = 1_000
/** One for all nodes of all runs: it watches the machine, not the world. */
const metrics = new Metrics()
/** Graphs alone: what other targets reach is no part of the world. */
const targets = targetConfig({ http: false, concurrency: 20 })
const rules = new OperatorRules(targets)

export class SimulatedNode {
  readonly name: string
  readonly #around: Surroundings
  #process: Owner
  #main: Owner
  #engine: Engine | null = null
  #worker: BuiltInWorker | null = null
  #ready = false
  tzVersion = '2026a'

  constructor(name: string, around: Surroundings) {
    this.name = name
    this.#around = around
    this.#process = new Owner(name, null, around.world.now)
    this.#main = this.#process
    this.#process.end()
  }

  get isUp(): boolean {
    return !this.#process.isGone
  }

  get isReady(): boolean {
    return this.isUp && this.#ready
  }

  /** Whom to ask. */
  get main(): Owner {
    return this.#main
  }

  get process(): Owner {
    return this.#process
  }

  get nodeId(): string | null {
    return this.#engine?.nodeId ?? null
  }

  /** Only to be used by what runs as this node. */
  get engine(): Engine {
    return this.#engine!
  }

  /** Its clock is off by so much, and runs faster by so much. */
  start(clock: { offsetMs: number; drift: number } = { offsetMs: 0, drift: 0 }): void {
    const { world } = this.#around
    this.#process = world.spawn(this.name)
    this.#main = world.spawn(`${this.name} main`, this.#process)
    const thread = world.spawn(`${this.name} keep-alive`, this.#process)
    Object.assign(this.#process, clock)
    this.#ready = false
    world.as(this.#main, () => this.#begin(thread))
  }

  crash(): void {
    this.#process.end()
  }

  /** Takes its leave of the installation, and is gone. */
  retire(): void {
    const process = this.#process
    const stop = async () => {
      await this.#worker?.stop()
      await this.#engine!.stop()
    }
    void this.#around.world.as(this.#main, () => stop().finally(() => process.end()))
  }

  #begin(thread: Owner): void {
    const { world, network, postgres, sessions, trace, tamper, bus, logger, settings } = this.#around
    const process = this.#process
    const onLeaderLost = () => this.#freeze(network.between(3_100, 7_000))
    const database = new SimulatedDatabase({ world, network, postgres, sessions, trace, tamper, onLeaderLost })
    const config = engineConfig({ ...settings, nodeName: this.name, databaseUrl: 'postgres://nowhere' })
    const engine = new Engine(config, logger, {
      targets: rules,
      parts: {
        ...{ database, signals: bus.member(), metrics, tzVersion: this.tzVersion },
        keepAlive: (settings) => new SimulatedKeepAlive({ world, database, thread, settings }),
      },
    })
    this.#engine = engine
    this.#worker = null
    const start = async () => {
      await engine.start()
      const worker = await builtInWorker({
        ...{ config: targets, rules, tokens: engine.tokens, runs: engine.startedRuns, logger: quiet(logger) },
        transport: directTransport(engine, { exact: true }),
        name: `${this.name} (built-in targets)`,
      })
      await worker.start()
      if (this.#process !== process) return
      this.#worker = worker
      this.#ready = true
    }
    start().then(
      () => {},
      () => {
        // As whoever watches over processes would.
        process.end()
        world.later(restartMs, () => this.#process === process && this.start(), world.root)
      },
    )
  }

  /** The whole process stands still; what it had just sent arrives when it goes on. Answers when that is. */
  #freeze(forMs: number): number {
    const { world } = this.#around
    const process = this.#process
    process.stop()
    world.later(forMs, () => world.goOn(process), world.root)
    return forMs
  }
}

/** A worker warns of what it cannot reach for a while. */
function quiet(logger: Logger): Logger {
  return { ...logger, warn() {} }
}
