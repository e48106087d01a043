/** Workers that get one execution each: what happens to it happens to nothing else. */
import type { LeasedExecution } from '@carillon/contract'
import { type RegisteredHandler, type Transport, Worker, type WorkerOptions } from '@carillon/sdk'

/** No heartbeat comes by itself: the test keeps the time. */
export const neverMs = 2 ** 31 - 1

export interface SpareWorkersOptions {
  handlers: readonly RegisteredHandler[]
  clock: { now(): number }
  worker: Pick<WorkerOptions, 'clock' | 'completeIn' | 'completeInModule' | 'logger'>
}

export class SpareWorkers {
  readonly #options: SpareWorkersOptions
  readonly #workers = new Set<Worker>()

  constructor(options: SpareWorkersOptions) {
    this.#options = options
  }

  /** Runs it on a worker of its own, whose reports go to `report`. */
  run(execution: LeasedExecution, report: Transport['report']): void {
    const { handlers, clock, worker: options } = this.#options
    const its = handlers.filter(({ definition }) => isOf(definition, execution))
    let given = false
    const transport: Transport = {
      register: async () => ({ heartbeatEveryMs: neverMs }),
      lease: async (_, signal) => {
        if (given) await aborted(signal)
        const executions = given ? [] : [execution]
        given = true
        return { executions, serverTime: clock.now() }
      },
      report,
      deregister: async () => {},
      onCancel: () => () => {},
    }
    const worker = new Worker({ ...options, transport, handlers: its, prefetch: 0, reportEveryMs: neverMs })
    this.#workers.add(worker)
    void worker.start()
  }

  /** Does what is due by the clock; answers when the next is. */
  tick(): number {
    return Math.min(Number.POSITIVE_INFINITY, ...[...this.#workers].map((worker) => worker.tick()))
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.stop({ drainSec: 0 })))
  }
}

function isOf({ name, pool }: { name: string; pool: string }, execution: LeasedExecution): boolean {
  return name === execution.handler && pool === execution.pool
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
