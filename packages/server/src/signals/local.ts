/** Signals within one process: heard at once by all users of the same object. For a single node. */
import type { Logger } from '../observability/logger.ts'
import { Listeners } from './messages.ts'
import type { Signal, Signals } from './port.ts'

export class LocalSignals implements Signals {
  readonly #listeners: Listeners

  constructor(logger: Logger) {
    this.#listeners = new Listeners(logger)
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {}

  publish(signal: Signal): void {
    this.#listeners.deliver(signal)
  }

  subscribe(listener: (signal: Signal) => void): () => void {
    return this.#listeners.add(listener)
  }
}
