/** A node that is spoken to over HTTP: an engine, its ear and, if asked for, a PostgreSQL of its own. */
import { engineConfig } from '../config/engine-config.ts'
import { type ServeSettings, serveConfig } from '../config/serve-config.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../embedded/index.ts'
import { openToAll } from '../http/auth/authenticator.ts'
import { routes } from '../http/routes/index.ts'
import { HttpServer } from '../http/server.ts'
import { Engine } from '../main.ts'
import { createLogger, type Logger } from '../observability/logger.ts'

export interface ServedNode {
  /** Where it listens. */
  readonly url: string
  readonly databaseUrl: string
  readonly nodeId: string
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
export async function serve(settings: ServeSettings, logger: Logger = createLogger('info')): Promise<ServedNode> {
  const config = serveConfig(settings)
  const postgres = config.dataDir === undefined ? null : await startEmbeddedPostgres({ dataDir: config.dataDir })
  try {
    return await startNode({ ...config, databaseUrl: postgres?.url ?? config.databaseUrl! }, postgres, logger)
  } catch (error) {
    await postgres?.stop()
    throw error
  }
}

async function startNode(
  config: ReturnType<typeof serveConfig> & { databaseUrl: string },
  postgres: EmbeddedPostgres | null,
  logger: Logger,
): Promise<ServedNode> {
  const engine = new Engine(engineConfig({ ...config.engine, databaseUrl: config.databaseUrl }), logger)
  const { host, port } = config
  const http = new HttpServer({ host, port, services: engine, routes, authenticator: openToAll, logger })
  await engine.start()
  try {
    await http.start()
  } catch (error) {
    await engine.stop()
    throw error
  }
  return {
    url: http.url,
    databaseUrl: config.databaseUrl,
    nodeId: engine.nodeId,
    async stop() {
      await http.stop()
      await engine.stop()
      await postgres?.stop()
    },
  }
}
