/**
 * The process in which `carillon dev` runs the user's handlers. It loads the module first and says whether that went
 * well and which files took part; it works only when told to. Signals of the terminal are left to the parent, which
 * stops it in order; should the parent vanish, it drains and goes by itself.
 */
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { createWorker } from '@carillon/sdk'
import { Output } from '../output.ts'
import { loadHandlers } from './load.ts'
import type { FromWorker, ToWorker, WorkerProcessOptions } from './messages.ts'
import { plainLog } from './worker-log.ts'

const options = JSON.parse(process.argv[2]!) as WorkerProcessOptions
const output = new Output({ json: false, color: true, verbose: false })
const files = new Set<string>()
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => {})

registerHooks({
  load(url, context, nextLoad) {
    if (url.startsWith('file:') && !url.includes('/node_modules/')) files.add(fileURLToPath(url))
    return nextLoad(url, context)
  },
})

try {
  const handlers = await loadHandlers(options.module)
  for (const { module } of handlers) if (module?.protocol === 'file:') files.add(fileURLToPath(module))
  const { urls, token, tenant } = options
  const worker = createWorker({ urls, token, tenant, handlers, logger: plainLog(output, 'worker') })
  const stop = () => void worker.stop({ drainSec: options.drainSec }).finally(() => process.exit(0))
  process.on('disconnect', stop)
  process.on('message', (message: ToWorker) => {
    if (message === 'STOP') return stop()
    void worker.start().then(
      () => tell({ kind: 'STARTED' }),
      (error: unknown) => refuse(error),
    )
  })
  tell({ kind: 'LOADED', handlers: handlers.map(({ definition }) => definition.name), files: [...files] })
} catch (error) {
  refuse(error)
}

function refuse(error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  process.send!({ kind: 'REFUSED', error: text, files: [...files] } satisfies FromWorker, () => process.exit(1))
}

function tell(message: FromWorker): void {
  process.send?.(message)
}
