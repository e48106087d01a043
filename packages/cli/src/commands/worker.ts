import { createWorker } from '@carillon/sdk'
import type { Command } from 'commander'
import { act, type Context } from '../context.ts'
import { loadHandlers } from '../handlers/load.ts'
import { plainLog } from '../handlers/worker-log.ts'
import { onShutdown } from '../shutdown.ts'
import { parseSpan } from '../times.ts'

/** `carillon worker <module>`: runs the handlers a module exports, for the nodes at --url. */
export function registerWorker(program: Command): void {
  program
    .command('worker <module>')
    .description('run the handlers that a module exports, for the nodes at --url')
    .option('--name <name>', 'for people; host and process id unless given')
    .option('--drain <span>', 'how long running handlers may go on after a stop signal', parseSpan, 30_000)
    .addHelpText(
      'after',
      '\nExample:\n  $ carillon worker ./src/handlers.ts --url http://10.0.0.1:7171,http://10.0.0.2:7171',
    )
    .action(act(run))
}

async function run(context: Context, options: { name?: string; drain: number }, path: string): Promise<void> {
  const { out, urls, globals } = context
  const handlers = await loadHandlers(path)
  const { token, tenant } = globals
  const worker = createWorker({
    urls,
    token,
    tenant,
    ...context.tls,
    name: options.name,
    handlers,
    logger: plainLog(out, 'worker'),
  })
  const shutdown = onShutdown(out)
  const names = handlers.map(({ definition }) => definition.name)
  out.note(`Handlers: ${names.join(', ')}`)
  const started = worker.start().then(() => out.note(`Working for ${urls.join(', ')}`))
  await Promise.race([started.then(() => shutdown.asked), shutdown.asked])
  await worker.stop({ drainSec: options.drain / 1_000 })
}
