/**
 * What must go on although the event loop is busy: a thread with a connection of its own to PostgreSQL renews the node's
 * lease and reports that the workers in this process are alive. PostgreSQL's versions of leadership and of worker liveness
 * share it.
 *
 * What must stay true: a handler that blocks the event loop for a minute keeps its lease and is not run twice. The node's
 * lease is renewed only while the main thread has shown life within `lifeMs`, so that a node whose main thread is stuck is
 * replaced. After `stopRenewing` has resolved no renewal follows: one after the node has resigned would revive its lease.
 */
import { Worker } from 'node:worker_threads'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'

export interface KeepAliveSettings {
  databaseUrl: string
  renewEveryMs: number
  workersEveryMs: number
  /** For a connection and for each answer. */
  answerWithinMs: number
}

export interface NodeLease {
  nodeId: string
  nodeName: string
  leaseMs: number
  /** The main thread must have shown life within this time for the lease to be renewed. */
  lifeMs: number
}

export interface KeepAlive extends Service {
  /** Resolves after the first renewal: from then on the node may lead. */
  startRenewing(lease: NodeLease): Promise<void>
  stopRenewing(): Promise<void>
  /** From now on the thread reports that this worker is alive. */
  addWorker(workerId: string): void
  removeWorker(workerId: string): void
}

export type ToThread = { workerIds: string[] } | { lease: NodeLease | null } | { stop: true }
export type FromThread = { renewed: true } | { released: true } | { trouble: string }

export class KeepAliveThread implements KeepAlive {
  readonly #settings: KeepAliveSettings
  readonly #logger: Logger
  readonly #life = new Int32Array(new SharedArrayBuffer(4))
  readonly #workerIds = new Set<string>()
  #lease: NodeLease | null = null
  #onRenewed = () => {}
  #onFailed = (_: Error) => {}
  #onReleased = () => {}
  #thread: Worker | null = null
  #timer: NodeJS.Timeout | null = null

  constructor(settings: KeepAliveSettings, logger: Logger) {
    this.#settings = settings
    this.#logger = logger
  }

  async start(): Promise<void> {
    if (this.#thread) return
    this.#timer = setInterval(() => Atomics.add(this.#life, 0, 1), this.#settings.renewEveryMs)
    this.#launch()
  }

  async stop(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer)
    const thread = this.#thread
    this.#thread = null
    if (!thread) return
    const gone = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
    thread.postMessage({ stop: true } satisfies ToThread)
    await gone
  }

  startRenewing(lease: NodeLease): Promise<void> {
    this.#lease = lease
    return new Promise((resolve, reject) => {
      this.#onRenewed = resolve
      this.#onFailed = reject
      this.#post({ lease })
    })
  }

  async stopRenewing(): Promise<void> {
    this.#lease = null
    if (!this.#thread) return
    await new Promise<void>((resolve) => {
      this.#onReleased = resolve
      this.#post({ lease: null })
    })
  }

  addWorker(workerId: string): void {
    this.#workerIds.add(workerId)
    this.#post({ workerIds: [...this.#workerIds] })
  }

  removeWorker(workerId: string): void {
    this.#workerIds.delete(workerId)
    this.#post({ workerIds: [...this.#workerIds] })
  }

  #post(message: ToThread): void {
    this.#thread?.postMessage(message)
  }

  #launch(): void {
    const file = import.meta.url.endsWith('.ts') ? './thread.ts' : './thread.js'
    const thread = new Worker(new URL(file, import.meta.url), {
      workerData: { settings: this.#settings, life: this.#life },
    })
    this.#thread = thread
    thread.on('error', (error: Error) => {
      this.#logger.error({ err: error }, 'the keep-alive thread failed')
      this.#onFailed(error)
    })
    thread.on('message', (message: FromThread) => {
      if ('renewed' in message) this.#onRenewed()
      else if ('released' in message) this.#onReleased()
      else this.#logger.warn(message, 'the lease or the workers could not be kept alive, trying again')
    })
    thread.once('exit', () => {
      // What ended with the thread is over.
      this.#onReleased()
      if (this.#thread !== thread) return
      this.#logger.error({}, 'the keep-alive thread ended; starting it again')
      this.#launch()
    })
    if (this.#lease) this.#post({ lease: this.#lease })
    this.#post({ workerIds: [...this.#workerIds] })
  }
}
