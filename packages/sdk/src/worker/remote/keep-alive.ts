/**
 * Keep-alive of a remote worker: a thread that reports to the installation when the main thread has not done so for
 * a while. A handler that blocks the event loop therefore keeps its lease and is not run twice.
 *
 * What must stay true: the thread never says what is held, since it cannot know; an empty report is a sign of
 * life and is not compared, so nothing is handed back because of it. And it reports for a silent main thread no longer
 * than the longest timeout of what was leased: a process that is wedged for good loses what it holds in the end.
 */

import { extname } from 'node:path'
import { Worker as Thread } from 'node:worker_threads'
import type { Logger } from '@carillon/contract/process'
import type { NodeOptions } from '../../http/node-options.ts'
import type { WorkerRegistration } from '../transport.ts'

export interface KeepAliveSettings {
  nodes: Pick<NodeOptions, 'tenant' | 'tls'> & { urls: string[] }
  token: string | undefined
  registration: WorkerRegistration
  everyMs: number
  /** What the main thread shows: see `shown`. */
  shown: Float64Array
}

/** What the thread says. */
export type KeepAliveWord = { ready: true } | { trouble: string }

export type KeepAliveMessage = { token: string } | { registration: WorkerRegistration }

/** Places in the shared array. */
export const shown = {
  /** Goes up with every answered report. */
  reports: 0,
  /** How long one of the executions leased so far may run, in milliseconds. */
  longestRunMs: 1,
} as const

const restartMs = 1_000

export class KeepAlive {
  readonly #settings: KeepAliveSettings
  readonly #logger: Logger
  readonly #ready = Promise.withResolvers<void>()
  #thread: Thread | null = null
  #restart: NodeJS.Timeout | null = null
  #stopped = false

  constructor(settings: Omit<KeepAliveSettings, 'shown'>, logger: Logger) {
    this.#settings = { ...settings, shown: new Float64Array(new SharedArrayBuffer(16)) }
    this.#logger = logger
    this.#launch()
  }

  /** Resolves when the thread is there: before that nothing may be leased, since it may block the event loop at once. */
  get ready(): Promise<void> {
    return this.#ready.promise
  }

  /** A report was answered. */
  reported(): void {
    this.#settings.shown[shown.reports]!++
  }

  leased(timeoutSec: number): void {
    const runMs = timeoutSec * 1_000
    if (runMs > this.#settings.shown[shown.longestRunMs]!) this.#settings.shown[shown.longestRunMs] = runMs
  }

  useToken(token: string): void {
    if (token === this.#settings.token) return
    this.#settings.token = token
    this.#post({ token })
  }

  update(registration: WorkerRegistration): void {
    this.#settings.registration = registration
    this.#post({ registration })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#ready.resolve()
    if (this.#restart !== null) clearTimeout(this.#restart)
    await this.#thread?.terminate()
  }

  #post(message: KeepAliveMessage): void {
    this.#thread?.postMessage(message)
  }

  #launch(): void {
    // The entry beside this file: `.ts` in development, `.js` when built.
    const file = `./keep-alive-thread${extname(new URL(import.meta.url).pathname)}`
    const thread = new Thread(new URL(file, import.meta.url), { workerData: this.#settings })
    this.#thread = thread
    thread.on('message', (word: KeepAliveWord) => {
      if ('ready' in word) {
        thread.unref()
        this.#ready.resolve()
      } else this.#logger.warn(word, 'a keep-alive report of the worker was not answered; trying again')
    })
    thread.on('error', (error) => this.#logger.error({ error }, 'the keep-alive thread of the worker failed'))
    thread.once('exit', () => {
      // A worker without a keep-alive thread is better than none.
      this.#ready.resolve()
      if (this.#stopped) return
      this.#thread = null
      this.#restart = setTimeout(() => this.#launch(), restartMs)
    })
  }
}
