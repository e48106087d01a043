import { existsSync, unwatchFile, watchFile } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { act, type Context } from '../context.ts'
import { UsageError } from '../failure.ts'
import { ReloadingWorker } from '../handlers/reloading-worker.ts'
import { plainLog } from '../handlers/worker-log.ts'
import { addListenOptions, databaseOf, type ListenOptions } from '../serve-options.ts'
import { onShutdown } from '../shutdown.ts'

const defaultModule = 'src/handlers.ts'
const quietLevel = 'error'
const drainSec = 5
const lookEveryMs = 500

/** `carillon dev`: a node, PostgreSQL and your handlers, which are loaded again when you save. */
export function registerDev(program: Command): void {
  addListenOptions(program.command('dev'), quietLevel)
    .description('for development: a node, PostgreSQL in ./data, and your handlers, loaded again when they change')
    .option('--handlers <module>', `a module that exports handlers (default: ${defaultModule})`)
    .addHelpText('after', '\nExample:\n  $ carillon dev --handlers src/jobs.ts')
    .action(act(dev))
}

async function dev(context: Context, options: ListenOptions & { handlers?: string }): Promise<void> {
  const { out } = context
  const module = resolve(options.handlers ?? defaultModule)
  if (options.handlers !== undefined && !existsSync(module)) throw new UsageError(`${options.handlers} does not exist`)
  const { createLogger, serve } = await import('@carillon/server')
  const { host, port } = options
  const shutdown = onShutdown(out)
  // Unless another level is asked for, a person reads it: plain lines about what goes wrong.
  const logger = options.logLevel === quietLevel ? plainLog(out, 'node') : createLogger(options.logLevel)
  const node = await serve({ host, port, ...databaseOf(context, options) }, logger)
  out.line(`Listening on ${node.url}  (docs: ${node.url}/docs)`)
  const worker = new ReloadingWorker(
    { module, urls: [node.url], drainSec },
    {
      onLoaded: (handlers, again) => out.line(`${again ? 'Loaded again' : 'Handlers'}: ${handlers.join(', ')}`),
      onRefused: (error, running) => {
        out.note(error)
        out.note(running ? 'The handlers loaded before go on; save again.' : 'No handlers run; fix it and save.')
      },
    },
  )
  const begin = () => worker.start()
  if (existsSync(module)) begin()
  else awaitFile(context, module, begin)
  await shutdown.asked
  unwatchFile(module)
  await worker.stop()
  await node.stop()
}

/** The file may be written after the start: then its handlers run from that moment on. */
function awaitFile({ out }: Context, module: string, found: () => void): void {
  out.note(`There is no ${defaultModule} yet. Write one, such as:

  import { defineHandler, implementHandler } from '@carillon/sdk'
  const greet = defineHandler<{ name: string }>({ name: 'greet' })
  export const greeting = implementHandler(greet, async (ctx) => \`Hello \${ctx.payload.name}\`)
`)
  watchFile(module, { interval: lookEveryMs }, (now) => {
    if (now.size === 0) return
    unwatchFile(module)
    found()
  })
}
