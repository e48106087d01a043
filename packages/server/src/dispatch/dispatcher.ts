/** The dispatchers of all pools that workers of this node serve. */
import type { Service } from '../lib/service.ts'
import type { PoolQueue } from '../queue/port.ts'
import type { Signals } from '../signals/port.ts'
import type { Leased } from '../store/executions/lease.ts'
import {
  type FreeSlot,
  type LeaseDemand,
  type LeasedText,
  PoolDispatcher,
  type PoolDispatcherOptions,
} from './pool-dispatcher.ts'

export interface DispatcherOptions extends Omit<PoolDispatcherOptions, 'pool' | 'queue'> {
  signals: Signals
  /** The queue of a pool that this node begins to serve. */
  queueOf(pool: string): PoolQueue
}

export class Dispatcher implements Service {
  readonly #options: DispatcherOptions
  readonly #signals: Signals
  readonly #pools = new Map<string, PoolDispatcher>()
  #unsubscribe = () => {}
  #stopped = false

  constructor(options: DispatcherOptions) {
    this.#options = options
    this.#signals = options.signals
  }

  async start(): Promise<void> {
    this.#unsubscribe = this.#signals.subscribe((signal) => {
      if (signal.kind === 'READY') this.#pools.get(signal.pool)?.hint(signal.lane, signal.tag)
      else if (signal.kind === 'RESUMED') this.wake(signal.pool)
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#unsubscribe()
    await Promise.all([...this.#pools.values()].map((pool) => pool.stop()))
  }

  wake(pool: string): void {
    this.#pools.get(pool)?.wake()
  }

  yieldToOthers(pool: string): void {
    this.#pools.get(pool)?.yieldToOthers()
  }

  /** See PoolDispatcher. */
  fill<T>(pool: string, write: (place: FreeSlot) => Promise<{ leased: Leased | null; answer: T }>): Promise<T> | null {
    return this.#pools.get(pool)?.fill(write) ?? null
  }

  async lease(pool: string, demand: LeaseDemand, signal: AbortSignal): Promise<LeasedText> {
    if (this.#stopped) return ''
    let dispatcher = this.#pools.get(pool)
    if (!dispatcher) {
      dispatcher = new PoolDispatcher({ ...this.#options, pool, queue: this.#options.queueOf(pool) })
      this.#pools.set(pool, dispatcher)
      await dispatcher.start()
    }
    return dispatcher.lease(demand, signal)
  }
}
