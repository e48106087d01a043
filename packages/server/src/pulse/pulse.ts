/**
 * The pulse: what must go on although the event loop is busy. A thread with a connection of its own renews the node's
 * lease and says that the node's workers live. A handler that blocks the event loop for a minute therefore keeps its
 * lease and is not run twice; the node itself keeps leading only while the main thread showed life in the last few
 * seconds, so that a wedged one is replaced.
 */
import { Worker } from 'node:worker_threads'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'

export interface PulseSettings {
  databaseUrl: string
  nodeId: string
  nodeName: string
  leaseMs: number
  renewEveryMs: number
  /** The main thread must have shown life within this time for the lease to be renewed. */
  lifeMs: number
  workersEveryMs: number
}

export type PulseMessage = { workerIds: string[] } | { stop: true }

/** What the rest of the node knows of it. */
export type PulsePart = Pick<Pulse, 'start' | 'stop' | 'addWorker' | 'removeWorker'>

export class Pulse implements Service {
  readonly #settings: PulseSettings
  readonly #logger: Logger
  readonly #life = new Int32Array(new SharedArrayBuffer(4))
  readonly #workerIds = new Set<string>()
  #thread: Worker | null = null
  #timer: NodeJS.Timeout | null = null
  #stopping = false

  constructor(settings: PulseSettings, logger: Logger) {
    this.#settings = settings
    this.#logger = logger
  }

  /** Resolves after the first renewal: from then on the node may lead. */
  async start(): Promise<void> {
    this.#timer = setInterval(() => Atomics.add(this.#life, 0, 1), this.#settings.renewEveryMs)
    await this.#launch()
  }

  async stop(): Promise<void> {
    this.#stopping = true
    if (this.#timer) clearInterval(this.#timer)
    const thread = this.#thread
    this.#thread = null
    if (!thread) return
    const gone = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
    this.#post(thread, { stop: true })
    await gone
  }

  /** From now on the thread says that this worker lives. */
  addWorker(workerId: string): void {
    this.#workerIds.add(workerId)
    this.#announce()
  }

  removeWorker(workerId: string): void {
    this.#workerIds.delete(workerId)
    this.#announce()
  }

  #announce(): void {
    if (this.#thread) this.#post(this.#thread, { workerIds: [...this.#workerIds] })
  }

  #post(thread: Worker, message: PulseMessage): void {
    thread.postMessage(message)
  }

  async #launch(): Promise<void> {
    const file = import.meta.url.endsWith('.ts') ? './pulse-thread.ts' : './pulse-thread.js'
    const thread = new Worker(new URL(file, import.meta.url), {
      workerData: { settings: this.#settings, life: this.#life },
    })
    this.#thread = thread
    thread.on('error', (error) => this.#logger.error({ err: error }, 'the pulse thread failed'))
    thread.on('message', (message: { trouble?: string }) => {
      if (message.trouble)
        this.#logger.warn({ trouble: message.trouble }, 'the lease could not be renewed, trying again')
    })
    const first = new Promise<void>((resolve, reject) => {
      thread.on('message', (message: { renewed?: true }) => message.renewed && resolve())
      thread.once('error', reject)
    })
    thread.once('exit', () => {
      if (this.#stopping) return
      this.#logger.error({}, 'the pulse thread ended; starting it again')
      void this.#launch().catch(() => {})
    })
    this.#announce()
    await first
  }
}
