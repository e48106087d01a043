/**
 * A place in the installation that a process fills: a node or a worker. The process may be killed, stopped and started again;
 * one that cannot start, because the database is away, is tried again until it can. One that ends by itself after it has
 * started is a defect: that is kept.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { setTimeout as after } from 'node:timers/promises'

export interface SeatOptions {
  name: string
  program: URL
  options: object
  logFile: string
  /** Loaded before the program. */
  preload?: URL
  onStarted?: (said: unknown) => void
}

const againMs = 300
const lastWords = 2_000

export class Seat {
  readonly name: string
  /** A fault is at work here: no other may be. */
  taken = false
  /** How the process ended by itself, each time it did. */
  readonly crashes: string[] = []
  readonly #options: SeatOptions
  #child: ChildProcess | null = null
  #started = false
  #starting: Promise<void> | null = null
  #closed = false

  constructor(options: SeatOptions) {
    this.#options = options
    this.name = options.name
  }

  get isUp(): boolean {
    return this.#started
  }

  /** Resolves when the process says that it has started. */
  start(): Promise<void> {
    this.#starting ??= this.#start().finally(() => {
      this.#starting = null
    })
    return this.#starting
  }

  async kill(): Promise<void> {
    const child = this.#child
    this.#child = null
    this.#started = false
    if (child) await end(child)
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.kill(signal)
  }

  tell(word: object): void {
    // If it is gone, its end is heard of elsewhere.
    if (this.#child?.connected) this.#child.send(word, () => {})
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.kill()
  }

  async #start(): Promise<void> {
    while (!this.#closed && !this.#started && !(await this.#attempt())) await after(againMs)
  }

  async #attempt(): Promise<boolean> {
    const { program, options, logFile, preload, onStarted } = this.#options
    const log = await open(logFile, 'a')
    if (this.#closed) {
      await log.close()
      return true
    }
    const child = fork(program, [JSON.stringify(options)], {
      stdio: ['ignore', log.fd, log.fd, 'ipc'],
      execArgv: preload ? ['--import', preload.href] : [],
      // Ctrl-C in a terminal reaches the run only, which then ends it.
      detached: true,
    })
    this.#child = child
    const saying = Promise.race([once(child, 'message').then(([word]) => ({ word })), once(child, 'exit')])
    await log.close()
    const said = await saying
    if (!('word' in said)) {
      if (this.#child === child) this.#child = null
      return false
    }
    child.once('exit', (code, signal) => void this.#ended(child, signal ?? code))
    if (this.#child !== child) return false
    this.#started = true
    onStarted?.(said.word)
    return true
  }

  /** Not by us: `kill` has let go of it before. */
  async #ended(child: ChildProcess, how: unknown): Promise<void> {
    if (this.#child !== child) return
    this.#child = null
    this.#started = false
    const text = await readFile(this.#options.logFile, 'utf8').catch(() => '')
    this.crashes.push(`ended by itself (${how}): ${text.slice(-lastWords)}`)
    await this.start()
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGCONT')
  child.kill('SIGKILL')
  await gone
}
