/**
 * Runs a duty again and again: every `everyMs`, and at once when woken. Never twice at the same time; a wake-up during a
 * run means one more run after it. An error is logged and the next try waits longer, up to `maxDelayMs`.
 */

import type { Logger } from '@carillon/contract/process'
import { Backoff } from '@carillon/contract/process'
import type { Service } from './service.ts'

/** How long to wait before the next run, if shorter than `everyMs`. Not a bare number: a count would be taken for one. */
export interface Again {
  againInMs: number
}

export interface LoopOptions {
  name: string
  everyMs: number
  logger: Logger
  runOnce: () => Promise<Again | undefined> | Promise<void>
}

export class Loop implements Service {
  readonly #options: LoopOptions
  readonly #backoff = new Backoff({ initialMs: 50, maxMs: 2_000 })
  #run = Promise.resolve()
  #running = false
  #pausing = false
  #timer: NodeJS.Timeout | null = null
  #wakes = 0
  #stopped = true

  constructor(options: LoopOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    this.#stopped = false
    this.#pausing = false
    this.wake()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    await this.#run
  }

  /** Run now, or once more if a run is under way. After an error the pause holds: hints do not shorten it. */
  wake(): void {
    this.#wakes++
    if (this.#stopped || this.#running || this.#pausing) return
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    this.#running = true // before the run begins: it may wake its own loop
    this.#run = this.#runUntilQuiet()
  }

  async #runUntilQuiet(): Promise<void> {
    let delay = this.#options.everyMs
    do {
      this.#wakes = 0
      try {
        const again = await this.#options.runOnce()
        delay = again ? Math.min(again.againInMs, this.#options.everyMs) : this.#options.everyMs
        this.#backoff.reset()
      } catch (error) {
        delay = this.#backoff.nextMs()
        this.#pausing = true
        this.#options.logger.warn({ err: error, retryInMs: delay }, `${this.#options.name} failed, trying again`)
        break
      }
    } while (this.#wakes > 0 && !this.#stopped)
    this.#running = false
    if (this.#stopped) return
    this.#timer = setTimeout(() => {
      this.#pausing = false
      this.wake()
    }, delay)
  }
}
