/**
 * Waits for executions to end. An end at this node is heard at once; for all others the ledger is asked, for all waiters
 * together in one query, a few times a second.
 */
import { Loop } from '../lib/loop.ts'
import type { Logger } from '../observability/logger.ts'
import type { Signals } from '../signals/port.ts'
import type { StatusReads } from '../status-reads/port.ts'

const pollMs = 250

export class Ends {
  readonly #statusReads: Pick<StatusReads, 'ended'>
  readonly #signals: Signals
  readonly #waiting = new Map<string, Set<() => void>>()
  readonly #loop: Loop
  readonly #giveUp = new Set<() => void>()
  #closed = false
  #unsubscribe = () => {}

  constructor(options: { statusReads: Pick<StatusReads, 'ended'>; signals: Signals; logger: Logger }) {
    this.#statusReads = options.statusReads
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

  /** Answers all waiters at once, and later ones too: the node stops. */
  close(): void {
    this.#closed = true
    for (const giveUp of this.#giveUp) giveUp()
  }

  /** Resolves true when the execution has ended, false after `waitMs` or when the waiter has gone. */
  wait(executionId: string, waitMs: number, gone?: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (ended: boolean) => {
        clearTimeout(timer)
        gone?.removeEventListener('abort', onGone)
        this.#giveUp.delete(onGone)
        const listeners = this.#waiting.get(executionId)
        listeners?.delete(onEnd)
        if (listeners?.size === 0) this.#waiting.delete(executionId)
        resolve(ended)
      }
      const onEnd = () => settle(true)
      const onGone = () => settle(false)
      const timer = setTimeout(() => settle(false), waitMs)
      const listeners = this.#waiting.get(executionId)
      if (listeners) listeners.add(onEnd)
      else this.#waiting.set(executionId, new Set([onEnd]))
      gone?.addEventListener('abort', onGone)
      this.#giveUp.add(onGone)
      if (gone?.aborted || this.#closed) onGone()
      // It may have ended before we listened.
      else this.#loop.wake()
    })
  }

  #ended(executionId: string): void {
    for (const listener of [...(this.#waiting.get(executionId) ?? [])]) listener()
  }

  async #ask(): Promise<void> {
    if (this.#waiting.size === 0) return
    for (const id of await this.#statusReads.ended([...this.#waiting.keys()])) this.#ended(id)
  }
}
