/** The options of a node, shared by serve and dev, and how they become its settings. */
import { readFile } from 'node:fs/promises'
import type { AuthSettings, ServeSettings } from '@carillon/server'
import { Command, InvalidArgumentError, Option } from 'commander'
import type { Context } from './context.ts'
import { addDatabaseOptions, type DatabaseOptions, databasePlace } from './database-options.ts'
import { UsageError } from './failure.ts'
import { addScaleOutOptions, type ScaleOutOptions, scaleOutSettings } from './scale-out-options.ts'
import { addTargetOptions, type TargetOptions, targetSettings } from './target-options.ts'

export interface ListenOptions extends DatabaseOptions {
  host: string
  port: number
  logLevel: string
}

export interface ServeOptions extends ListenOptions, TargetOptions, ScaleOutOptions {
  auth?: 'on' | 'off'
  insecure?: boolean
  jwtSecret?: string
  jwtSecretFile?: string
  jwks?: string
  jwtIssuer?: string
  jwtAudience?: string
  tlsCert?: string
  tlsKey?: string
  metricsPort?: number
  metricsHost?: string
  undeclaredTenants?: 'accept' | 'refuse'
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal']

export function addListenOptions(command: Command, logLevel: string): Command {
  return addDatabaseOptions(command)
    .option('--host <address>', 'where to listen', '127.0.0.1')
    .option('--port <number>', 'where to listen; 0 takes a free one', portNumber, 7171)
    .addOption(new Option('--log-level <level>', 'how much to log').choices(logLevels).default(logLevel))
}

export function addServeOptions(command: Command): Command {
  addListenOptions(command, 'info')
    .addOption(new Option('--auth <on or off>', 'ask for tokens; off only on loopback').choices(['on', 'off']))
    .option('--insecure', 'allow plain text, and no tokens, off loopback')
    .addOption(
      new Option('--jwt-secret <secret>', 'of HS256 tokens; better in the environment').env('CARILLON_JWT_SECRET'),
    )
    .option('--jwt-secret-file <path>', 'a file with that secret')
    .option('--jwks <path or url>', 'public keys of RS256 and ES256 tokens')
    .option('--jwt-issuer <name>', 'what iss must be')
    .option('--jwt-audience <name>', 'what aud must be')
    .option('--tls-cert <path>', 'PEM file with the certificate and its chain')
    .option('--tls-key <path>', 'PEM file with its key')
  command
    .addOption(
      new Option('--metrics-port <number>', 'a port for /metrics alone: plain HTTP, no tokens, every label')
        .env('CARILLON_METRICS_PORT')
        .argParser(portNumber),
    )
    .addOption(
      new Option('--metrics-host <address>', 'the address of that port; 127.0.0.1 unless given').env(
        'CARILLON_METRICS_HOST',
      ),
    )
  command.addOption(
    new Option(
      '--undeclared-tenants <accept or refuse>',
      'new work of tenants that are not declared; accept unless given',
    )
      .choices(['accept', 'refuse'])
      .env('CARILLON_UNDECLARED_TENANTS'),
  )
  return addTargetOptions(addScaleOutOptions(command))
}

/** Every option of `serve`, for the reference. */
export function serveOptionList(): readonly Option[] {
  return addServeOptions(new Command('serve')).options
}

export async function serveSettings(context: Context, options: ServeOptions): Promise<ServeSettings> {
  const { host, port, insecure, tlsCert, tlsKey, metricsPort, metricsHost, undeclaredTenants } = options
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw new UsageError({ message: '--tls-cert and --tls-key go together', hint: 'Give both' })
  const auth = await authSettings(options)
  const { engine } = scaleOutSettings(options)
  return {
    host,
    port,
    ...(metricsPort !== undefined && { metricsPort }),
    ...(metricsHost !== undefined && { metricsHost }),
    ...databaseOf(context, options),
    ...(insecure && { insecure }),
    ...(auth && { auth }),
    ...((engine || undeclaredTenants) && { engine: { ...engine, ...(undeclaredTenants && { undeclaredTenants }) } }),
    ...targetSettings(options),
    ...(tlsCert !== undefined && tlsKey !== undefined && { tls: { certFile: tlsCert, keyFile: tlsKey } }),
  }
}

/** A PostgreSQL of its own in ./data unless told otherwise. */
export function databaseOf(context: Context, options: DatabaseOptions) {
  const place = databasePlace(context, options)
  return Object.keys(place).length === 0 ? { dataDir: './data' } : place
}

async function authSettings(options: ServeOptions): Promise<ServeSettings['auth']> {
  const { auth, jwtSecret, jwtSecretFile, jwks, jwtIssuer, jwtAudience } = options
  if (jwtSecret !== undefined && jwtSecretFile !== undefined)
    throw new UsageError({ message: '--jwt-secret and --jwt-secret-file name two secrets', hint: 'Give one of them' })
  const secret = jwtSecretFile === undefined ? jwtSecret : await readSecret(jwtSecretFile)
  const given: AuthSettings = {
    ...(secret !== undefined && { jwtSecret: secret }),
    ...(jwks !== undefined && { jwks }),
    ...(jwtIssuer !== undefined && { issuer: jwtIssuer }),
    ...(jwtAudience !== undefined && { audience: jwtAudience }),
  }
  const named = Object.keys(given).length > 0
  if (auth === 'off') {
    if (named)
      throw new UsageError({ message: '--auth off and keys for tokens contradict each other', hint: 'Leave one out' })
    return 'off'
  }
  return named || auth === 'on' ? given : undefined
}

async function readSecret(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch {
    throw new UsageError(`--jwt-secret-file ${path} cannot be read`)
  }
}

function portNumber(text: string): number {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError('Give a whole number from 0 to 65535.')
  return port
}
