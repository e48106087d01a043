/** A peer's submitter and its workers, as the process that measures sees them. */
import type { ChildProcess } from 'node:child_process'
import { setTimeout as after } from 'node:timers/promises'
import type { Ground, Started } from '../ground/ground.ts'
import type { SubmitterOrder, SubmitterWord } from './submitter-process.ts'
import type { PeerProcessOptions } from './wiring.ts'
import type { WorkerOrder, WorkerWord } from './worker-process.ts'

const leavesWithinMs = 10_000

export class Submitter {
  readonly #started: Started<SubmitterWord>

  private constructor(started: Started<SubmitterWord>) {
    this.#started = started
  }

  static async open(ground: Ground, options: PeerProcessOptions): Promise<Submitter> {
    return new Submitter(await ground.start('generator', new URL('./submitter-process.ts', import.meta.url), options))
  }

  /** Milliseconds until the last acknowledgement. */
  async bulk(first: number, count: number, { overHttp = false } = {}): Promise<number> {
    const word = await this.#ask({ bulk: { first, count, overHttp } })
    return (word as { ms: number }).ms
  }

  /** When the job was about to be submitted. */
  async one(n: number): Promise<number> {
    const word = await this.#ask({ one: n })
    return (word as { at: number }).at
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await leave(this.#started)
  }

  async #ask(order: SubmitterOrder): Promise<SubmitterWord> {
    const { child } = this.#started
    const answer = wordOf(child)
    child.send(order)
    return (await answer) as SubmitterWord
  }
}

export class PeerWorkers {
  readonly #started: Started<WorkerWord>[]
  readonly #runs: number[]
  readonly #lost = Promise.withResolvers<never>()
  #onRuns = () => {}
  #onBegan = (_n: number, _at: number) => {}

  private constructor(started: Started<WorkerWord>[]) {
    this.#started = started
    this.#runs = started.map(() => 0)
    this.#lost.promise.catch(() => {})
    started.forEach(({ child }, i) => {
      child.on('message', (word: WorkerWord) => this.#heard(i, word))
      child.once('exit', (code, signal) => this.#lost.reject(new Error(`a worker ended: ${signal ?? code}`)))
    })
  }

  static async open(ground: Ground, options: PeerProcessOptions, count: number): Promise<PeerWorkers> {
    const program = new URL('./worker-process.ts', import.meta.url)
    const started = Array.from({ length: count }, () => ground.start<WorkerWord>('worker', program, options))
    return new PeerWorkers(await Promise.all(started))
  }

  /** Resolves once all take up work. */
  async start({ tellEach = false } = {}): Promise<void> {
    const order: WorkerOrder = { start: { tellEach } }
    const begun = this.#started.map(({ child }) => said(child, 'started'))
    for (const { child } of this.#started) child.send(order)
    await Promise.all(begun)
  }

  get runs(): number {
    return this.#runs.reduce((sum, runs) => sum + runs, 0)
  }

  /** Resolves when so many handlers have run; rejects when a worker ends or after `withinMs`. */
  async reached(count: number, withinMs: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(() => reject(new Error(`${this.runs} of ${count} runs after ${withinMs} ms`)), withinMs)
    this.#onRuns = () => this.runs >= count && resolve()
    this.#onRuns()
    await Promise.race([promise, this.#lost.promise]).finally(() => clearTimeout(timer))
  }

  /** When the handler of the n-th job began. */
  async began(n: number, withinMs: number): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const timer = setTimeout(() => reject(new Error(`job ${n} did not begin within ${withinMs} ms`)), withinMs)
    this.#onBegan = (which, at) => which === n && resolve(at)
    return Promise.race([promise, this.#lost.promise]).finally(() => clearTimeout(timer))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#started.map(leave))
  }

  #heard(i: number, word: WorkerWord): void {
    if (typeof word === 'string') return
    if ('began' in word) this.#onBegan(word.began, word.at)
    else {
      this.#runs[i] = word.runs
      this.#onRuns()
    }
  }
}

/** The next word of a process. */
function wordOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const heard = (word: unknown) => {
      child.off('exit', gone)
      resolve(word)
    }
    const gone = (code: number | null, signal: NodeJS.Signals | null) => {
      child.off('message', heard)
      reject(new Error(`a process of a peer ended: ${signal ?? code}`))
    }
    child.once('message', heard)
    child.once('exit', gone)
  })
}

/** Asked to let its connections go, and ended then, or when it does not. */
async function leave(started: Started<unknown>): Promise<void> {
  const { child } = started
  if (child.connected) {
    const closed = said(child, 'closed').catch(() => {})
    child.send('close')
    await Promise.race([closed, after(leavesWithinMs, undefined, { ref: false })])
  }
  await started[Symbol.asyncDispose]()
}

async function said(child: ChildProcess, word: 'started' | 'closed'): Promise<void> {
  while ((await wordOf(child)) !== word);
}
