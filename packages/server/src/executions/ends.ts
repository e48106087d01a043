/**
 * Waits for executions to end. An end at this node is heard at once; for all others the ledger is asked, for everybody
 * who waits in one query, a few times a second.
 */
import { Loop } from '../lib/loop.ts'
import type { Logger } from '../observability/logger.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { readEnded } from '../store/executions/read.ts'

const pollMs = 250

export class Ends {
  readonly #database: Database
  readonly #signals: Signals
  readonly #waiting = new Map<string, Set<() => void>>()
  readonly #loop: Loop
  #unsubscribe = () => {}

  constructor(options: { database: Database; signals: Signals; logger: Logger }) {
    this.#database = options.database
    this.#signals = options.signals
    this.#loop = new Loop({ name: 'ends', everyMs: pollMs, logger: options.logger, runOnce: () => this.#ask() })
  }

  async start(): Promise<void> {
    this.#unsubscribe = this.#signals.subscribe((signal) => {
      if (signal.kind === 'ENDED') for (const id of signal.executionIds) this.#ended(id)
    })
    await this.#loop.start()
  }

  async stop(): Promise<void> {
    this.#unsubscribe()
    await this.#loop.stop()
  }

  /** Resolves true when the execution has ended, false after `waitMs`. */
  wait(executionId: string, waitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (ended: boolean) => {
        clearTimeout(timer)
        const listeners = this.#waiting.get(executionId)
        listeners?.delete(onEnd)
        if (listeners?.size === 0) this.#waiting.delete(executionId)
        resolve(ended)
      }
      const onEnd = () => settle(true)
      const timer = setTimeout(() => settle(false), waitMs)
      const listeners = this.#waiting.get(executionId)
      if (listeners) listeners.add(onEnd)
      else this.#waiting.set(executionId, new Set([onEnd]))
      // It may have ended before anybody listened.
      this.#loop.wake()
    })
  }

  #ended(executionId: string): void {
    for (const listener of [...(this.#waiting.get(executionId) ?? [])]) listener()
  }

  async #ask(): Promise<void> {
    if (this.#waiting.size === 0) return
    for (const id of await readEnded(this.#database, [...this.#waiting.keys()])) this.#ended(id)
  }
}
