/** The thread of a node (packages/server/src/pulse) as an owner of its own: it goes on while the node's main thread is stuck. */
import type { PulsePart, PulseSettings } from '../../packages/server/src/pulse/pulse.ts'
import { renewLeaseSql } from '../../packages/server/src/store/shards/claim.ts'
import { seeWorkersSql } from '../../packages/server/src/store/workers/register.ts'
import type { SimulatedDatabase } from './database.ts'
import type { Owner } from './owner.ts'
import type { World } from './world.ts'

export class SimulatedPulse implements PulsePart {
  readonly #world: World
  readonly #database: SimulatedDatabase
  readonly #settings: PulseSettings
  readonly #thread: Owner
  #workerIds: string[] = []
  #life = 0
  #timer: NodeJS.Timeout | null = null
  #stopping = false
  #wake = () => {}
  #beating: Promise<void> = Promise.resolve()

  /** `thread` belongs to the node, so that both end together. */
  constructor(options: { world: World; database: SimulatedDatabase; settings: PulseSettings; thread: Owner }) {
    this.#world = options.world
    this.#database = options.database
    this.#settings = options.settings
    this.#thread = options.thread
  }

  start(): Promise<void> {
    this.#timer = setInterval(() => this.#life++, this.#settings.renewEveryMs)
    return new Promise((resolve) => {
      this.#beating = this.#world.as(this.#thread, () => this.#beat(resolve))
    })
  }

  async stop(): Promise<void> {
    this.#stopping = true
    if (this.#timer) clearInterval(this.#timer)
    this.#wake()
    await this.#beating
  }

  addWorker(workerId: string): void {
    this.#workerIds = [...this.#workerIds, workerId]
  }

  removeWorker(workerId: string): void {
    this.#workerIds = this.#workerIds.filter((id) => id !== workerId)
  }

  async #beat(onRenewed: () => void): Promise<void> {
    const { nodeId, nodeName, leaseMs, renewEveryMs, lifeMs, workersEveryMs } = this.#settings
    const database = this.#database
    let lifeSeen = -1
    let lifeSeenAt = performance.now()
    let workersSeenAt = Number.NEGATIVE_INFINITY
    while (!this.#stopping) {
      try {
        const now = performance.now()
        if (this.#life !== lifeSeen) {
          lifeSeen = this.#life
          lifeSeenAt = now
        }
        if (now - lifeSeenAt < lifeMs) {
          await database.query('renew-lease', renewLeaseSql, [nodeId, nodeName, leaseMs, database.now])
        }
        if (this.#workerIds.length > 0 && now - workersSeenAt >= workersEveryMs) {
          await database.query('see-workers', seeWorkersSql, [this.#workerIds, database.now])
          workersSeenAt = now
        }
        onRenewed()
      } catch {
        // The next beat tries again.
      }
      if (this.#stopping) return
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        setTimeout(resolve, renewEveryMs)
      })
    }
  }
}
