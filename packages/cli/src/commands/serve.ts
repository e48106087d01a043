import type { Command } from 'commander'
import { act, type Context } from '../context.ts'
import { addServeOptions, type ServeOptions, serveSettings } from '../serve-options.ts'
import { onShutdown } from '../shutdown.ts'

/** `carillon serve`: a node, until it is told to stop. */
export function registerServe(program: Command): void {
  addServeOptions(program.command('serve'))
    .description('run a node; without a database, on a PostgreSQL of its own in ./data')
    .addHelpText(
      'after',
      `
Examples:
  $ carillon serve                                           on 127.0.0.1:7171, without tokens
  $ carillon serve --database-url postgres://… --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem`,
    )
    .action(act(run))
}

async function run(context: Context, options: ServeOptions): Promise<void> {
  const { out } = context
  const settings = await serveSettings(context, options)
  const { createLogger, serve } = await import('@carillon/server')
  const shutdown = onShutdown(out)
  const node = await serve(settings, createLogger(options.logLevel))
  out.document({ url: node.url, metricsUrl: node.metricsUrl, nodeId: node.nodeId, auth: node.auth })
  out.note(`Listening on ${node.url}  (docs: ${node.url}/docs)`)
  if (node.metricsUrl !== null) out.note(`Metrics on ${node.metricsUrl}/metrics`)
  if (!node.auth) out.note('Auth is off: every client that reaches this address may do everything.')
  if (settings.dataDir !== undefined) out.note(`PostgreSQL runs in ${settings.dataDir}.`)
  await shutdown.asked
  await node.stop()
}
