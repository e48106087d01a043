/**
 * Reads what operators and tenants have declared into a node's memory: when a signal says that something has changed, and every ten seconds
 * in case the signal was lost.
 */
import { Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Signals } from '../signals/port.ts'

const everyMs = 10_000

export interface DeclarationReaderOptions {
  /** What is read, for the log. */
  name: string
  signals: Signals
  logger: Logger
  read: () => Promise<void>
}

export class DeclarationReader implements Service {
  readonly #options: DeclarationReaderOptions
  readonly #loop: Loop
  #unsubscribe: (() => void) | null = null

  constructor(options: DeclarationReaderOptions) {
    this.#options = options
    const { name, logger, read: runOnce } = options
    this.#loop = new Loop({ name, everyMs, logger, runOnce })
  }

  /** Resolves when it has been read once. */
  async start(): Promise<void> {
    const { signals, read } = this.#options
    this.#unsubscribe = signals.subscribe(({ kind }) => {
      if (kind === 'TENANTS') this.#loop.wake()
    })
    await read()
    await this.#loop.start()
  }

  stop(): Promise<void> {
    this.#unsubscribe?.()
    return this.#loop.stop()
  }
}
