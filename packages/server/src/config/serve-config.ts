/** What a served node is told: where to listen, which database, who may come in. Checked once, then frozen. */
import { CarillonError } from '@carillon/contract'
import type { EngineSettings } from './engine-config.ts'

export interface ServeSettings {
  host?: string
  port?: number
  /** A PostgreSQL of its own in this directory, instead of `databaseUrl`. */
  dataDir?: string
  databaseUrl?: string
  engine?: Omit<EngineSettings, 'databaseUrl'>
  /** Allow plain text and no tokens off loopback. */
  insecure?: boolean
}

export interface ServeConfig extends ServeSettings {
  readonly host: string
  readonly port: number
}

export const defaultPort = 7171

export function serveConfig(settings: ServeSettings): ServeConfig {
  const { host = '127.0.0.1', port = defaultPort } = settings
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new CarillonError('CONFIG_INVALID', {
      pointer: '/port',
      message: `port ${port} is not a whole number from 0 to 65535`,
    })
  }
  if ((settings.dataDir === undefined) === (settings.databaseUrl === undefined)) {
    throw new CarillonError('CONFIG_INVALID', {
      pointer: '/databaseUrl',
      message: 'exactly one of a database and a data directory is needed',
      hint: 'Give --database-url postgres://… or --data ./data',
    })
  }
  return Object.freeze({ ...settings, host, port })
}
