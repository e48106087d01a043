/** Timers of the world, in the shape of Node's. */
import type { Event } from './event-queue.ts'
import type { World } from './world.ts'

/** As Node does it: whole milliseconds, one at least. */
function delayOf(ms: number | undefined): number {
  const delay = Math.trunc(ms ?? 1)
  return delay >= 1 && delay <= 2 ** 31 - 1 ? delay : 1
}

export class VirtualTimer {
  readonly #world: World
  readonly #run: () => void
  readonly #delayMs: number
  readonly #repeats: boolean
  #event: Event

  constructor(world: World, run: () => void, options: { delayMs: number; repeats: boolean }) {
    this.#world = world
    this.#run = run
    this.#delayMs = options.delayMs
    this.#repeats = options.repeats
    this.#event = this.#put()
  }

  clear(): void {
    this.#event.cancelled = true
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return false
  }

  refresh(): this {
    this.clear()
    this.#event = this.#put()
    return this
  }

  close(): this {
    this.clear()
    return this
  }

  #put(): Event {
    return this.#world.later(this.#delayMs, () => {
      if (this.#repeats) this.#event = this.#put()
      this.#run()
    })
  }
}

export function virtualTimers(world: World) {
  type Callback = (...args: unknown[]) => void
  const timer =
    (repeats: boolean) =>
    (run: Callback, ms?: number, ...args: unknown[]) =>
      new VirtualTimer(world, () => run(...args), { delayMs: delayOf(ms), repeats })
  const setImmediate = (run: Callback, ...args: unknown[]) =>
    new VirtualTimer(world, () => run(...args), { delayMs: 0, repeats: false })
  const promised =
    (begin: (done: () => void) => VirtualTimer) =>
    (value: unknown, { signal }: { signal?: AbortSignal } = {}) =>
      new Promise((resolve, reject) => {
        const onAbort = () => {
          waiting.clear()
          reject(new DOMException('The operation was aborted', 'AbortError'))
        }
        const waiting = begin(() => {
          signal?.removeEventListener('abort', onAbort)
          resolve(value)
        })
        if (signal?.aborted) onAbort()
        else signal?.addEventListener('abort', onAbort)
      })
  const setTimeout = timer(false)
  return {
    setTimeout,
    setInterval: timer(true),
    setImmediate,
    promises: {
      setTimeout: (ms?: number, value?: unknown, options?: { signal?: AbortSignal }) =>
        promised((done) => setTimeout(done, ms))(value, options),
      setImmediate: (value?: unknown, options?: { signal?: AbortSignal }) =>
        promised((done) => setImmediate(done))(value, options),
    },
  }
}
