import { silentLogger } from '@carillon/contract/process'
import { defineHandler } from '../../handler.ts'
import type { HandlerContext } from '../running/context.ts'
import type { RegisteredHandler } from '../running/registered-handler.ts'
import { Worker } from '../worker.ts'
import type { WorkerOptions } from '../worker-options.ts'
import { ScriptedTransport } from './scripted-transport.ts'

export type Run = (ctx: HandlerContext) => unknown

export function handler(run: Run, options: Partial<RegisteredHandler> & { name?: string } = {}): RegisteredHandler {
  const { name = 'test', ...rest } = options
  return { definition: defineHandler({ name }), run, ...rest }
}

/** A worker over a scripted transport, started; stopped at the latest when the returned rig is disposed of. */
export async function startRig(
  handlers: RegisteredHandler[] | Run,
  options: Partial<WorkerOptions> & { transport?: ScriptedTransport } = {},
) {
  const { transport = new ScriptedTransport() } = options
  const worker = new Worker({
    logger: silentLogger,
    prefetch: 0,
    ...options,
    transport,
    handlers: typeof handlers === 'function' ? [handler(handlers)] : handlers,
  })
  await worker.start()
  return { transport, worker, [Symbol.asyncDispose]: () => worker.stop({ drainSec: 0 }) }
}

/** Resolves when the signal aborts, with its reason. */
export function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason)
    else signal.addEventListener('abort', () => resolve(signal.reason), { once: true })
  })
}

/** Names of what happened, in order, to wait on. */
export class Tally {
  readonly names: string[] = []
  #waiting: { count: number; resolve: () => void }[] = []

  add(name: string): void {
    this.names.push(name)
    const reached = this.#waiting.filter(({ count }) => this.names.length >= count)
    this.#waiting = this.#waiting.filter((waiter) => !reached.includes(waiter))
    for (const { resolve } of reached) resolve()
  }

  reached(count: number): Promise<void> {
    if (this.names.length >= count) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push({ count, resolve }))
  }
}
