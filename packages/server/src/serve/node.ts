/** A node with an HTTP API: an engine, an HTTP server and, if asked for, an embedded PostgreSQL. */
import type { EmbeddedPostgres } from '@carillon/embedded'
import { engineConfig } from '../config/engine-config.ts'
import { isLoopback } from '../config/loopback.ts'
import { type ServeConfig, type ServeSettings, serveConfig } from '../config/serve-config.ts'
import { loadEmbedded } from '../embedded.ts'
import { anonymousAuthenticator } from '../http/auth/anonymous.ts'
import { type Authenticator, createAuthenticator } from '../http/auth/authenticator.ts'
import { Dashboard } from '../http/dashboard.ts'
import { routes } from '../http/routes/index.ts'
import { HttpServer } from '../http/server.ts'
import { Engine } from '../main.ts'
import { createLogger, type Logger } from '../observability/logger.ts'
import { builtInWorker } from '../targets/built-in-worker.ts'
import { OperatorRules } from '../targets/target-rules.ts'
import { directTransport } from '../workers/direct-transport.ts'
import { MetricsServer } from './metrics-server.ts'
import { readTls, type TlsFiles } from './tls.ts'

export interface ServedNode {
  /** Where it listens. */
  readonly url: string
  /** Where its metrics are, if they have a port of their own. */
  readonly metricsUrl: string | null
  readonly databaseUrl: string
  readonly nodeId: string
  /** Whether it asks for tokens. */
  readonly auth: boolean
  stop(): Promise<void>
}

/**
 * Starts a node and resolves once it listens.
 *
 * @example
 * ```ts
 * import { serve } from '@carillon/server'
 *
 * const node = await serve({ dataDir: './data', port: 7171 })
 * console.log(`Listening on ${node.url}`)
 * process.once('SIGTERM', () => void node.stop())
 * ```
 */
export async function serve(
  settings: ServeSettings,
  logger: Logger = createLogger(settings.logLevel ?? 'info'),
): Promise<ServedNode> {
  const config = serveConfig(settings)
  const tls = config.tls && (await readTls(config.tls))
  const postgres = config.dataDir === undefined ? null : await startPostgres(config.dataDir)
  try {
    return await startNode({ ...config, databaseUrl: postgres?.url ?? config.databaseUrl! }, { postgres, tls, logger })
  } catch (error) {
    await postgres?.stop()
    throw error
  }
}

async function startPostgres(dataDir: string): Promise<EmbeddedPostgres> {
  const { startEmbeddedPostgres } = await loadEmbedded()
  return startEmbeddedPostgres({ dataDir })
}

async function startNode(
  config: ServeConfig & { databaseUrl: string },
  { postgres, tls, logger }: { postgres: EmbeddedPostgres | null; tls: TlsFiles | undefined; logger: Logger },
): Promise<ServedNode> {
  const rules = new OperatorRules(config.targets)
  const settings = engineConfig({ ...config.engine, databaseUrl: config.databaseUrl, directUrl: config.directUrl })
  const engine = new Engine(settings, logger, { targets: rules })
  const worker = await builtInWorker({
    ...{ config: config.targets, rules, tokens: engine.tokens, runs: engine.startedRuns, logger },
    transport: directTransport(engine, { exact: true }),
    name: `${settings.nodeName} (built-in targets)`,
  })
  const { host, port, requestTimeoutMs } = config
  const authenticator = await authenticatorFor(config, engine, logger)
  const http = new HttpServer({
    ...{ host, port, requestTimeoutMs, tls, authenticator, logger },
    ...{ services: engine, routes, dashboard: new Dashboard() },
  })
  const { metricsPort, metricsHost = '127.0.0.1' } = config
  const metrics =
    metricsPort === undefined
      ? null
      : new MetricsServer({ host: metricsHost, port: metricsPort, metrics: engine.metrics })
  await engine.start()
  try {
    await worker.start()
    await http.start()
    await metrics?.start()
    logger.info({ url: http.url }, 'listening')
  } catch (error) {
    await http.stop()
    await worker.stop()
    await engine.stop()
    throw error
  }
  const stop = async () => {
    engine.workerSessions.closePolls()
    engine.ends.close()
    engine.events.close()
    engine.logFeed.close()
    await http.stop()
    await worker.stop()
    await engine.stop()
    await metrics?.stop()
    await postgres?.stop()
  }
  let stopped: Promise<void> | null = null
  return {
    url: http.url,
    metricsUrl: metrics?.url ?? null,
    databaseUrl: config.databaseUrl,
    nodeId: engine.nodeId,
    auth: config.auth !== 'off',
    stop() {
      stopped ??= stop()
      return stopped
    },
  }
}

async function authenticatorFor({ auth, host }: ServeConfig, engine: Engine, logger: Logger): Promise<Authenticator> {
  if (auth !== 'off') return createAuthenticator(auth, { database: engine.database, clock: engine.clock, logger })
  logger.warn({ host }, 'auth is off: every client that reaches this address may do everything')
  return anonymousAuthenticator({ loopbackOnly: isLoopback(host) })
}
