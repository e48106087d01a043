/** The worker that starts runs of graphs for executions, as a node has one among its built-in targets. No fault strikes it. */
import { defineHandler, implementHandler, type Transport, Worker, type WorkerOptions } from '@carillon/sdk'
import { builtInName } from '../domain/built-in-targets.ts'
import { type RunStarter, runDag } from '../targets/dag/dag-target.ts'
import { neverMs } from './spare-workers.ts'

export const runPool = builtInName('dag')
export const runSlots = 10

export interface RunWorkerOptions extends Pick<WorkerOptions, 'clock' | 'logger'> {
  transport: Transport
  runs: RunStarter
}

export function runWorker({ runs, ...options }: RunWorkerOptions): Worker {
  const definition = defineHandler({ name: runPool, pool: runPool })
  const handler = implementHandler(definition, (ctx) => runDag(ctx, runs), { concurrency: runSlots })
  return new Worker({ ...options, handlers: [handler], prefetch: 0, reportEveryMs: neverMs })
}
