/** From options to a Carillon that can be started: on a database that is there, or on one of its own. */
import { CarillonError } from '@carillon/contract'
import { type EngineSettings, engineConfig } from '../config/engine-config.ts'
import { startEmbeddedPostgres } from '../embedded/index.ts'
import { Engine } from '../main.ts'
import { createLogger, type Logger } from '../observability/logger.ts'
import { Carillon } from './carillon.ts'

export interface CarillonOptions extends EngineSettings {
  /** A PostgreSQL of its own, started from an npm package into this directory. Must be asked for. */
  embedded?: { dataDir: string; port?: number }
  tenant?: string
  logger?: Logger
  logLevel?: string
}

/**
 * Starts nothing yet: register handlers with `handle`, then `start`.
 *
 * @example
 * ```ts
 * import { createCarillon, defineHandler } from '@carillon/server'
 *
 * const greet = defineHandler<{ name: string }>({ name: 'greet' })
 * const carillon = await createCarillon({ embedded: { dataDir: './data' } })
 * carillon.handle(greet, async (ctx) => `Hello ${ctx.payload.name}`)
 * await carillon.start()
 * const handle = await carillon.enqueue(greet, { name: 'Ada' })
 * console.log(await handle.result())
 * await carillon.stop()
 * ```
 */
export async function createCarillon(options: CarillonOptions): Promise<Carillon> {
  const { embedded, tenant, logger = createLogger(options.logLevel ?? 'warn'), logLevel: _, ...settings } = options
  if (embedded && (settings.databaseUrl || settings.directUrl)) {
    throw new CarillonError('CONFIG_INVALID', {
      message: `${settings.databaseUrl ? 'databaseUrl' : 'directUrl'} and embedded are both given`,
      hint: 'Give one of them',
    })
  }
  if (!embedded)
    return new Carillon(new Engine(engineConfig(settings), logger), { logger, tenant, postgres: null, settings })
  const postgres = await startEmbeddedPostgres(embedded)
  try {
    const engine = new Engine(engineConfig({ ...settings, databaseUrl: postgres.url }), logger)
    return new Carillon(engine, { logger, tenant, postgres, settings })
  } catch (error) {
    await postgres.stop()
    throw error
  }
}
