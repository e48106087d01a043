/** The thread of a node (packages/server/src/keep-alive) as an owner of its own: it goes on while the main thread is stuck. */
import type { KeepAlive, KeepAliveSettings, NodeLease } from '../../packages/server/src/keep-alive/keep-alive.ts'
import { renewLeaseSql } from '../../packages/server/src/store/shards/claim.ts'
import { seeWorkersSql } from '../../packages/server/src/store/workers/register.ts'
import type { SimulatedDatabase } from './database.ts'
import type { Owner } from './owner.ts'
import type { World } from './world.ts'

export class SimulatedKeepAlive implements KeepAlive {
  readonly #world: World
  readonly #database: SimulatedDatabase
  readonly #settings: KeepAliveSettings
  readonly #thread: Owner
  #workerIds: string[] = []
  #workersSeenAt = Number.NEGATIVE_INFINITY
  #lease: NodeLease | null = null
  #onRenewed = () => {}
  #life = 0
  #lifeSeen = -1
  #lifeSeenAt = 0
  #timer: NodeJS.Timeout | null = null
  #stopping = false
  #wake = () => {}
  #rounds: Promise<void> = Promise.resolve()
  #round: Promise<void> = Promise.resolve()

  /** `thread` belongs to the node, so that both end together. */
  constructor(options: { world: World; database: SimulatedDatabase; settings: KeepAliveSettings; thread: Owner }) {
    this.#world = options.world
    this.#database = options.database
    this.#settings = options.settings
    this.#thread = options.thread
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => this.#life++, this.#settings.renewEveryMs)
    this.#rounds = this.#world.as(this.#thread, () => this.#run())
  }

  async stop(): Promise<void> {
    this.#stopping = true
    if (this.#timer) clearInterval(this.#timer)
    this.#wake()
    await this.#rounds
  }

  startRenewing(lease: NodeLease): Promise<void> {
    this.#lease = lease
    return new Promise((resolve) => {
      this.#onRenewed = resolve
      this.#wake()
    })
  }

  async stopRenewing(): Promise<void> {
    this.#lease = null
    await this.#round
  }

  addWorker(workerId: string): void {
    this.#workerIds = [...this.#workerIds, workerId]
  }

  removeWorker(workerId: string): void {
    this.#workerIds = this.#workerIds.filter((id) => id !== workerId)
  }

  async #run(): Promise<void> {
    this.#lifeSeenAt = performance.now()
    while (!this.#stopping) {
      // The next round tries again.
      this.#round = this.#runRound().catch(() => {})
      await this.#round
      if (this.#stopping) return
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        setTimeout(resolve, this.#settings.renewEveryMs)
      })
    }
  }

  async #runRound(): Promise<void> {
    const database = this.#database
    const now = performance.now()
    if (this.#life !== this.#lifeSeen) {
      this.#lifeSeen = this.#life
      this.#lifeSeenAt = now
    }
    const lease = this.#lease
    if (lease && now - this.#lifeSeenAt < lease.lifeMs) {
      const { nodeId, nodeName, leaseMs } = lease
      await database.query('renew-lease', renewLeaseSql, [nodeId, nodeName, leaseMs, database.now])
      this.#onRenewed()
    }
    if (this.#workerIds.length > 0 && now - this.#workersSeenAt >= this.#settings.workersEveryMs) {
      await database.query('see-workers', seeWorkersSql, [this.#workerIds, database.now])
      this.#workersSeenAt = now
    }
  }
}
