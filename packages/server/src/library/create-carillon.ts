/** From options to a Carillon that can be started: on an existing database, or on an embedded one. */
import { CarillonError, checkOptions } from '@carillon/contract'
import type { EmbeddedPostgres } from '@carillon/embedded'
import { type EngineSettings, engineConfig, engineSettingNames } from '../config/engine-config.ts'
import { type TargetSettings, targetConfig } from '../config/target-config.ts'
import { loadEmbedded } from '../embedded.ts'
import { Engine } from '../main.ts'
import { createLogger, type Logger, logLevels } from '../observability/logger.ts'
import { builtInWorker } from '../targets/built-in-worker.ts'
import { OperatorRules } from '../targets/target-rules.ts'
import { directTransport } from '../workers/direct-transport.ts'
import { Carillon } from './carillon.ts'

export interface CarillonOptions extends EngineSettings {
  /** A PostgreSQL of its own in this directory, by the package `@carillon/embedded`. Must be asked for. */
  embedded?: { dataDir: string; port?: number }
  /** The tenant of calls that name none; `default` unless given. */
  tenant?: string
  /** What built-in targets (HTTP, shell, Kafka, Lambda) may do in this process; as for a served node, HTTP targets run unless `{ http: false }`. */
  targets?: TargetSettings
  /** Any logger with debug, info, warn and error, such as pino. */
  logger?: Logger
  /** How much to log to stdout when no `logger` is given; `warn` unless given, which shows what fails. */
  logLevel?: string
}

const optionNames = [...engineSettingNames, 'embedded', 'tenant', 'targets', 'logger', 'logLevel']
const databaseHint =
  "createCarillon({ databaseUrl: 'postgres://user:password@host:5432/database' }), or createCarillon({ embedded: { dataDir: './data' } }) for a PostgreSQL of its own"

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
  checkCarillonOptions(options)
  const { embedded, tenant, targets, logLevel = 'warn', logger = createLogger(logLevel), ...settings } = options
  const allowed = targetConfig(targets)
  const create = async (postgres: EmbeddedPostgres | null) => {
    const rules = new OperatorRules(allowed)
    const config = engineConfig({ ...settings, databaseUrl: postgres?.url ?? settings.databaseUrl })
    const engine = new Engine(config, logger, { targets: rules })
    const builtIn = await builtInWorker({
      ...{ config: allowed, rules, tokens: engine.tokens, runs: engine.startedRuns, logger },
      transport: directTransport(engine, { exact: true }),
      name: `${config.nodeName} (built-in targets)`,
    })
    return new Carillon(engine, { logger, tenant, postgres, config, builtIn })
  }
  if (!embedded) return create(null)
  const { startEmbeddedPostgres } = await loadEmbedded()
  const postgres = await startEmbeddedPostgres(embedded)
  try {
    return await create(postgres)
  } catch (error) {
    await postgres.stop()
    throw error
  }
}

function checkCarillonOptions(options: CarillonOptions | undefined): void {
  const invalid = (pointer: string, message: string, hint: string) =>
    new CarillonError('CONFIG_INVALID', { pointer, message, hint })
  if (options === undefined) throw invalid('/databaseUrl', 'createCarillon needs a database', databaseHint)
  if (typeof options === 'string') {
    throw invalid('/databaseUrl', 'createCarillon takes an object, not a text', databaseHint)
  }
  checkOptions(options, optionNames, { what: 'the options of createCarillon', code: 'CONFIG_INVALID' })
  const { embedded, databaseUrl, directUrl, tenant, logLevel } = options
  if (embedded !== undefined) {
    checkOptions(embedded, ['dataDir', 'port'], { pointer: '/embedded', what: 'embedded', code: 'CONFIG_INVALID' })
    if (typeof embedded.dataDir !== 'string' || embedded.dataDir === '')
      throw invalid('/embedded/dataDir', 'embedded needs a dataDir', "embedded: { dataDir: './data' }")
  }
  if (embedded && (databaseUrl || directUrl)) {
    const other = databaseUrl ? 'databaseUrl' : 'directUrl'
    throw invalid(`/${other}`, `${other} and embedded are both given`, 'Give one of them')
  }
  if (!embedded && !databaseUrl) throw invalid('/databaseUrl', 'createCarillon needs a database', databaseHint)
  if (tenant !== undefined && (typeof tenant !== 'string' || tenant === ''))
    throw invalid('/tenant', 'tenant must be a text that is not empty', 'Leave it out for the tenant default')
  if (logLevel !== undefined && !logLevels.includes(logLevel))
    throw invalid('/logLevel', `logLevel ${logLevel} is not known`, `Use one of ${logLevels.join(', ')}`)
}
