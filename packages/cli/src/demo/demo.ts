/**
 * The demo: a whole installation that lives as long as its command. PostgreSQL, a node, a worker that speaks HTTP to it,
 * some jobs and a graph; and a feed of their outcomes. Stopped, it leaves its data and no process.
 */
import { createServer } from 'node:net'
import type { Job } from '@carillon/contract'
import { createWorker } from '@carillon/sdk'
import type { Context } from '../context.ts'
import { UsageError } from '../failure.ts'
import { plainLog } from '../handlers/worker-log.ts'
import { connect, type NodeClient } from '../node-client.ts'
import { type ScaleOutOptions, scaleOutSettings } from '../scale-out-options.ts'
import { onShutdown } from '../shutdown.ts'
import { jobColumns } from '../views.ts'
import { printEnds } from './feed.ts'
import { graph, graphHandlers } from './graph.ts'
import { handlers } from './handlers.ts'
import { jobs, managedBy, otherJobs, otherTenant } from './jobs.ts'

export interface DemoOptions extends ScaleOutOptions {
  data: string
  port: number
}

const host = '127.0.0.1'
const portsTried = 20
const drainSec = 3

export async function runDemo(context: Context, options: DemoOptions): Promise<void> {
  const { out } = context
  const { createLogger, serve } = await import('@carillon/server')
  const shutdown = onShutdown(out)
  out.line(`Starting PostgreSQL in ${options.data} …`)
  const port = await freePort(options.port)
  if (port !== options.port) out.line(`Port ${options.port} is taken: using ${port}.`)
  const node = await serve({ host, port, dataDir: options.data, ...scaleOutSettings(options) }, createLogger('error'))
  const client = connect({ urls: [node.url] })
  const worker = createWorker({
    urls: [node.url],
    name: 'demo-worker',
    handlers: [...handlers, ...graphHandlers],
    logger: plainLog(out, 'worker'),
  })
  try {
    if (shutdown.signal.aborted) return
    await worker.start()
    // Before the job that starts its runs.
    await client.call('createDag', { body: { ...graph, managedBy } })
    const created = await createJobs(client, jobs)
    const other = connect({ urls: [node.url], tenant: otherTenant })
    await createJobs(other, otherJobs).finally(() => other.close())
    introduce(context, node.url, created)
    await printEnds(client, context, shutdown.signal)
  } finally {
    await worker.stop({ drainSec })
    await client.close()
    await node.stop()
    out.line('Stopped. Nothing is left running; the data is kept.')
  }
}

async function createJobs(client: NodeClient, wanted: typeof jobs): Promise<Job[]> {
  const created: Job[] = []
  for (const job of wanted) created.push(await client.call('createJob', { body: { ...job, managedBy } }))
  return created
}

function introduce(context: Context, url: string, created: Job[]): void {
  const { out } = context
  const shown = ['KEY', 'STATE', 'SCHEDULE', 'TARGET', 'NEXT FIRE', 'NEXT']
  const columns = jobColumns(context).filter(({ header }) => shown.includes(header))
  const program = import.meta.url.endsWith('.ts') ? 'npm run -s carillon --' : 'npx carillon'
  const carillon = `${program}${url.endsWith(':7171') ? '' : ` --url ${url}`}`
  out.line()
  out.line(`Open ${out.style('cyan', url)}: the dashboard. Another tenant, ${otherTenant}, has work there too.`)
  out.line()
  out.table(created, columns, '')
  out.line(`
A node listens on ${url}, a worker runs handlers for it over HTTP. Its API is described at ${url}/docs.
Try in another terminal:

  ${carillon} jobs list
  ${carillon} executions list --limit 10
  ${carillon} jobs trigger report
  ${carillon} jobs pause heartbeat
  ${carillon} dead-letters list
  ${carillon} dags run orders --watch
  ${carillon} events --type 'job.*'
  ${carillon} next '30 2 * * *' --tz America/New_York --after 2030-03-09
  curl -s '${url}/v1/executions?limit=1'
  curl -s ${url}/v1/jobs -H 'content-type: application/json' \\
    -d '{"type": "ONE_SHOT", "target": {"handler": "report"}, "payload": {"pages": 2}}'

How executions end, as it happens. Ctrl-C stops everything.
`)
}

/** The first free port of a few. */
async function freePort(first: number): Promise<number> {
  for (let port = first; port < first + portsTried; port++) if (await isFree(port)) return port
  throw new UsageError({
    message: `ports ${first} to ${first + portsTried - 1} are taken`,
    hint: 'Give another --port',
  })
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer()
    server.once('error', () => done(false))
    server.listen(port, host, () => server.close(() => done(true)))
  })
}
