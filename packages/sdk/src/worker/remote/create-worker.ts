import { checkNodeOptions, type NodeOptions } from '../../http/node-options.ts'
import { Worker } from '../worker.ts'
import { type WorkerOptions, workerOptionNames } from '../worker-options.ts'
import { HttpTransport } from './http-transport.ts'

export interface RemoteWorkerOptions
  extends Omit<WorkerOptions, 'transport' | 'reportEveryMs'>,
    Pick<NodeOptions, 'urls' | 'token' | 'tenant' | 'tls'> {}

const connection = ['urls', 'token', 'tenant', 'tls'] satisfies (keyof RemoteWorkerOptions)[]

/**
 * A worker that speaks HTTP to an installation: the same handlers and the same context as in library mode. Begin with
 * `start`, end with `stop`.
 *
 * @example
 * ```ts
 * import { createWorker, defineHandler, implementHandler } from '@carillon/sdk'
 *
 * const greet = defineHandler<{ name: string }>({ name: 'greet', pool: 'greeters' })
 *
 * const worker = createWorker({
 *   urls: ['https://carillon-1.example:7171', 'https://carillon-2.example:7171'],
 *   token: 'crl_…',
 *   handlers: [implementHandler(greet, async (ctx) => `Hello ${ctx.payload.name}`, { concurrency: 20 })],
 * })
 * await worker.start()
 * process.once('SIGTERM', () => void worker.stop({ drainSec: 30 }))
 * ```
 */
export function createWorker(options: RemoteWorkerOptions): Worker {
  checkNodeOptions(options, 'createWorker', [...connection, ...workerOptionNames])
  const { urls, token, tenant, tls, ...rest } = options
  const { logger, clock } = options
  const transport = new HttpTransport({ urls, token, tenant, tls, logger, clock })
  return new Worker({ ...rest, transport })
}
