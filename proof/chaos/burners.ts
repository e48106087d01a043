/** Processes that keep the CPU busy while a run goes on. They end with the run, also when it is killed. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** Between two slices a burner can hear that its parent is gone. */
const sliceMs = 50

export class Burners implements AsyncDisposable {
  readonly #children: ChildProcess[]

  constructor(count: number) {
    this.#children = Array.from({ length: count }, () =>
      // Detached: Ctrl-C in a terminal reaches the run only, which then ends them.
      fork(new URL(import.meta.url), [], { detached: true, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] }),
    )
  }

  get pids(): number[] {
    return this.#children.map(({ pid }) => pid!)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return
        const gone = once(child, 'exit')
        child.kill('SIGKILL')
        await gone
      }),
    )
  }
}

if (import.meta.main) {
  process.once('disconnect', () => process.exit(0))
  setImmediate(burn)
}

function burn(): void {
  const until = performance.now() + sliceMs
  while (performance.now() < until);
  setImmediate(burn)
}
