/**
 * The user's handlers in a process of their own, replaced when their code changes. A new process takes over only after
 * it has loaded the module: with a mistake in it the last good one goes on. The one before drains meanwhile; both may
 * work side by side, so no execution waits for a reload.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { FileWatch } from './file-watch.ts'
import type { FromWorker, ToWorker, WorkerProcessOptions } from './messages.ts'

const entry = fileURLToPath(new URL('./worker-process.ts', import.meta.url))
const killAfterMs = 5_000

export interface ReloadingEvents {
  onLoaded(handlers: string[], again: boolean): void
  /** The module cannot be loaded; `running`: the one before goes on. */
  onRefused(error: string, running: boolean): void
}

export class ReloadingWorker {
  readonly #options: WorkerProcessOptions
  readonly #events: ReloadingEvents
  readonly #watch: FileWatch
  /** All that live: the one that works, one that loads, those that drain. */
  readonly #children = new Set<ChildProcess>()
  #working: ChildProcess | null = null
  #loading: ChildProcess | null = null
  #loadedOnce = false
  #stopping = false

  constructor(options: WorkerProcessOptions, events: ReloadingEvents) {
    this.#options = options
    this.#events = events
    this.#watch = new FileWatch(() => this.#load())
  }

  start(): void {
    this.#watch.follow([this.#options.module], { anything: true })
    this.#load()
  }

  async stop(): Promise<void> {
    this.#stopping = true
    this.#watch.close()
    await Promise.all([...this.#children].map((child) => this.#end(child)))
  }

  #load(): void {
    if (this.#stopping) return
    // What was still loading has been overtaken by another change.
    if (this.#loading) void this.#end(this.#loading)
    const child = fork(entry, [JSON.stringify(this.#options)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.#loading = child
    this.#children.add(child)
    child.on('message', (message: FromWorker) => this.#heard(child, message))
    child.once('exit', (code) => {
      this.#children.delete(child)
      if (this.#loading === child) this.#refused(child, `The process ended with ${code} while it loaded`)
      if (this.#working !== child) return
      this.#working = null
      if (!this.#stopping) this.#events.onRefused(`The process with the handlers ended (${code})`, false)
    })
  }

  #heard(child: ChildProcess, message: FromWorker): void {
    if (this.#stopping) return
    if (message.kind === 'REFUSED') this.#refused(child, message.error, message.files)
    if (message.kind !== 'LOADED' || child !== this.#loading) return
    this.#loading = null
    this.#watch.follow([this.#options.module, ...message.files], { anything: false })
    const before = this.#working
    this.#working = child
    tell(child, 'START')
    if (before) void this.#end(before)
    this.#events.onLoaded(message.handlers, this.#loadedOnce)
    this.#loadedOnce = true
  }

  #refused(child: ChildProcess, error: string, files: string[] = []): void {
    if (child === this.#loading) this.#loading = null
    if (child === this.#working) this.#working = null
    this.#watch.follow([this.#options.module, ...files], { anything: true })
    if (!this.#stopping) this.#events.onRefused(error, this.#working !== null)
  }

  /** Drains it; one that does not go is killed. */
  async #end(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    if (this.#loading === child) this.#loading = null
    if (this.#working === child) this.#working = null
    const gone = new Promise<void>((done) => child.once('exit', () => done()))
    tell(child, 'STOP')
    const timer = setTimeout(() => child.kill('SIGKILL'), this.#options.drainSec * 1_000 + killAfterMs)
    await gone
    clearTimeout(timer)
  }
}

function tell(child: ChildProcess, message: ToWorker): void {
  if (child.connected) child.send(message, () => {})
}
