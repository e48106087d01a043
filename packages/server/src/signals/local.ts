/** Signals within one process: heard at once by all users of the same object. For a single node. */
import type { Logger } from '../observability/logger.ts'
import type { Signal, Signals } from './port.ts'

export class LocalSignals implements Signals {
  readonly #listeners = new Set<(signal: Signal) => void>()
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {}

  publish(signal: Signal): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(signal)
      } catch (error) {
        this.#logger.error({ err: error, kind: signal.kind }, 'a signal was not understood')
      }
    }
  }

  subscribe(listener: (signal: Signal) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
