/** Workers by the thousand, in a few processes that count as generators. Every one of them is registered and reports. */
import type { ChildProcess } from 'node:child_process'
import type { Ground } from '../ground/ground.ts'
import type { FleetCommand, FleetWord } from './fleet-process.ts'
import type { FleetCounts, FleetOptions } from './fleet-worker.ts'

const processes = 2
const commandMs = 120_000

export class Fleet implements AsyncDisposable {
  readonly #parts: FleetPart[]
  readonly #stack: AsyncDisposableStack

  private constructor(parts: FleetPart[], stack: AsyncDisposableStack) {
    this.#parts = parts
    this.#stack = stack
  }

  static async open(ground: Ground, options: FleetOptions): Promise<Fleet> {
    await using stack = new AsyncDisposableStack()
    const parts: FleetPart[] = []
    for (let part = 1; part <= processes; part++) {
      const program = new URL('./fleet-process.ts', import.meta.url)
      const started = stack.use(await ground.start('generator', program, { ...options, name: `fleet ${part}` }))
      parts.push(new FleetPart(started.child))
    }
    return new Fleet(parts, stack.move())
  }

  /** Joins or leaves until there are so many. Each that has joined holds what it is to run, and waits for more. */
  async resize(size: number): Promise<void> {
    await Promise.all(
      this.#parts.map((part, n) => {
        const share = Math.floor(size / processes) + (n < size % processes ? 1 : 0)
        return part.tell({ size: share })
      }),
    )
  }

  /** Since the beginning, summed over all. Throws what a worker met with. */
  async counts(): Promise<FleetCounts & { workers: number }> {
    const sum = { reports: 0, polls: 0, lost: 0, workers: 0 }
    for (const part of this.#parts) {
      const counts = await part.tell({})
      for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += counts[key]
    }
    return sum
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }
}

class FleetPart {
  readonly #child: ChildProcess
  #failure: Error | null = null
  #waiting: PromiseWithResolvers<FleetCounts & { workers: number }> | null = null

  constructor(child: ChildProcess) {
    this.#child = child
    child.on('message', (word: FleetWord) => {
      if ('done' in word) this.#waiting?.resolve(word.done)
      else if ('failed' in word) this.#fail(new Error(`a worker of the fleet failed: ${word.failed}`))
    })
    child.once('exit', (code) => this.#fail(new Error(`a process of the fleet ended with ${code}`)))
  }

  async tell(command: FleetCommand): Promise<FleetCounts & { workers: number }> {
    if (this.#failure) throw this.#failure
    this.#waiting = Promise.withResolvers()
    const timer = setTimeout(
      () => this.#fail(new Error(`the fleet did not obey: ${JSON.stringify(command)}`)),
      commandMs,
    )
    try {
      this.#child.send(command)
      return await this.#waiting.promise
    } finally {
      clearTimeout(timer)
      this.#waiting = null
    }
  }

  #fail(error: Error): void {
    this.#failure ??= error
    this.#waiting?.reject(this.#failure)
  }
}
