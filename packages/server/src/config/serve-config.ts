/** Settings of a served node: address, database, authentication. Checked once, then frozen. */
import { CarillonError, checkOptions } from '@carillon/contract'
import { type AuthConfig, type AuthSettings, authConfig } from './auth-config.ts'
import { type EngineSettings, engineSettingNames } from './engine-config.ts'
import { isLoopback } from './loopback.ts'
import { type TargetConfig, type TargetSettings, targetConfig } from './target-config.ts'

export interface ServeSettings {
  /** The address to listen on; 127.0.0.1 unless given. */
  host?: string
  /** The port to listen on, 7171 unless given; 0 takes a free one. */
  port?: number
  /** A port for `/metrics` alone, in plain HTTP, without tokens and with every name; none unless given, 0 takes a free one. */
  metricsPort?: number
  /** The address of that port; 127.0.0.1 unless given. */
  metricsHost?: string
  /** A PostgreSQL of its own in this directory, instead of `databaseUrl`. */
  dataDir?: string
  /** The PostgreSQL database of the installation. */
  databaseUrl?: string
  /** If `databaseUrl` leads to PgBouncer in transaction mode: a URL of PostgreSQL itself. */
  directUrl?: string
  /** Settings of the node itself: see above. */
  engine?: Omit<EngineSettings, 'databaseUrl' | 'directUrl'>
  /** Authentication. By default none on loopback, API keys elsewhere. */
  auth?: 'off' | AuthSettings
  /** PEM files; the certificate's may hold the whole chain. */
  tls?: TlsSettings
  /** What built-in targets (HTTP, shell, Kafka, Lambda) may do on this node. */
  targets?: TargetSettings
  /** How long a request may take to arrive; against clients that send slowly or never. */
  requestTimeoutMs?: number
  /** How much to log; `info` unless given. */
  logLevel?: string
  /** Allow plain text and `auth: 'off'` off loopback. */
  insecure?: boolean
}

export interface TlsSettings {
  certFile: string
  keyFile: string
}

export interface ServeConfig extends Omit<ServeSettings, 'auth' | 'targets'> {
  readonly host: string
  readonly port: number
  readonly auth: 'off' | AuthConfig
  readonly targets: TargetConfig
  readonly insecure: boolean
  readonly requestTimeoutMs: number
}

export const defaultPort = 7171

const known: Record<keyof ServeSettings, true> = {
  host: true,
  port: true,
  metricsPort: true,
  metricsHost: true,
  dataDir: true,
  databaseUrl: true,
  directUrl: true,
  engine: true,
  auth: true,
  tls: true,
  targets: true,
  requestTimeoutMs: true,
  logLevel: true,
  insecure: true,
}

const engineSettings = engineSettingNames.filter((name) => name !== 'databaseUrl')

export function serveConfig(settings: ServeSettings): ServeConfig {
  checkOptions(settings, Object.keys(known), { what: 'the settings of serve', code: 'CONFIG_INVALID' })
  if (settings.engine !== undefined) {
    checkOptions(settings.engine, engineSettings, { pointer: '/engine', what: 'engine', code: 'CONFIG_INVALID' })
  }
  const { host = '127.0.0.1', port = defaultPort, insecure = false, requestTimeoutMs = 30_000, tls } = settings
  // Node takes an empty host for all of them.
  if (typeof host !== 'string' || host === '') throw invalid('host', 'must be a name or an address')
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw invalid('port', `${port} is not a whole number from 0 to 65535`)
  }
  const { metricsPort, metricsHost } = settings
  if (metricsPort !== undefined && (!Number.isInteger(metricsPort) || metricsPort < 0 || metricsPort > 65_535)) {
    throw invalid('metricsPort', `${metricsPort} is not a whole number from 0 to 65535`)
  }
  if (metricsHost !== undefined && (typeof metricsHost !== 'string' || metricsHost === '')) {
    throw invalid('metricsHost', 'must be a name or an address')
  }
  if (metricsHost !== undefined && metricsPort === undefined) {
    throw invalid('metricsHost', 'goes with metricsPort', 'Give both')
  }
  if ((settings.dataDir === undefined) === (settings.databaseUrl === undefined)) {
    throw new CarillonError('CONFIG_INVALID', {
      pointer: '/databaseUrl',
      message: 'exactly one of a database and a data directory is needed',
      hint: 'Give --database-url postgres://… or --data ./data',
    })
  }
  if (settings.directUrl !== undefined && settings.databaseUrl === undefined) {
    throw invalid('directUrl', 'goes with databaseUrl', 'The embedded PostgreSQL has no pooler before it')
  }
  if (!Number.isInteger(requestTimeoutMs) || requestTimeoutMs < 100 || requestTimeoutMs > 600_000) {
    throw invalid('requestTimeoutMs', `${requestTimeoutMs} is not a whole number from 100 to 600000`)
  }
  if (typeof insecure !== 'boolean') throw invalid('insecure', 'must be true or false')
  if (tls !== undefined) checkTls(tls)
  const within = isLoopback(host)
  if (!within && tls === undefined && !insecure) {
    throw invalid(
      'tls',
      `is needed on ${host}: tokens and payloads would travel in plain text`,
      'Give a certificate and its key, listen on 127.0.0.1, or say --insecure',
    )
  }
  const auth = settings.auth ?? (within ? 'off' : {})
  if (auth === 'off' && !within && !insecure) {
    throw invalid(
      'auth',
      `cannot be off on ${host}`,
      'Leave it out for API keys, listen on 127.0.0.1, or say --insecure',
    )
  }
  return Object.freeze({
    ...settings,
    host,
    port,
    insecure,
    requestTimeoutMs,
    auth: auth === 'off' ? auth : authConfig(auth, insecure),
    targets: targetConfig(settings.targets),
  })
}

function checkTls(tls: TlsSettings): void {
  checkOptions(tls, ['certFile', 'keyFile'], { pointer: '/tls', what: 'tls', code: 'CONFIG_INVALID' })
  const { certFile, keyFile } = tls
  for (const [key, file] of Object.entries({ certFile, keyFile })) {
    if (typeof file !== 'string' || file === '') throw invalid(`tls/${key}`, 'must be the path of a PEM file')
  }
}

function invalid(key: string, message: string, hint?: string): CarillonError {
  return new CarillonError('CONFIG_INVALID', { pointer: `/${key}`, message: `${key} ${message}`, hint })
}
