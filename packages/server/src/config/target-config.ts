/** What built-in targets may do on this node. Checked once, then frozen. */
import { accessSync, constants, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { isAbsolute } from 'node:path'
import { CarillonError, checkOptions } from '@carillon/contract'
import { type KafkaClusterConfig, type KafkaClusterSettings, kafkaTargetConfig } from './kafka-target-config.ts'
import { type LambdaConfig, type LambdaSettings, lambdaTargetConfig } from './lambda-target-config.ts'
import { isWellFormed } from './secret-patterns.ts'
import { SecretRefs } from './secret-refs.ts'

export interface TargetSettings {
  /** Requests to HTTP targets. On unless false. */
  http?: boolean
  /** Addresses, CIDRs and host names that HTTP targets may reach although they are private: `10.1.0.0/16`, `hooks.local`. */
  allow?: string[]
  /** The ports HTTP targets may use. All unless given. */
  ports?: number[]
  /** Which secrets targets of every tenant may refer to: `env:CARILLON_SECRET_*`, `file:/run/secrets/*`. None unless given. */
  secrets?: string[]
  /** Which secrets targets of one tenant may refer to besides, by its name: `{ acme: ['env:ACME__*'] }`. Prefixes may not overlap. */
  tenantSecrets?: Record<string, string[]>
  /** References to the keys that sign requests of jobs that name none; two while a key is being replaced. */
  signWith?: string[]
  /** Programs that shell targets may run, by the name jobs use. None unless given: then there are no shell targets. */
  shell?: Record<string, string>
  /** Clusters that Kafka targets may publish to, by the name jobs use. None unless given: then there are no Kafka targets. */
  kafka?: Record<string, KafkaClusterSettings>
  /** Functions that Lambda targets may call, and with whose keys. None unless given: then there are no Lambda targets. */
  lambda?: LambdaSettings
  /** Requests under way at once, as many programs, as many functions; of messages to Kafka at most 32. One tenant gets at most half of them. */
  concurrency?: number
  /** How long a request or a function may take, whatever the job says. 15 minutes unless given. What takes longer answers 202. */
  maxRequestSec?: number
}

export interface TargetConfig {
  readonly http: boolean
  readonly allow: readonly string[]
  readonly ports: ReadonlySet<number> | null
  readonly secrets: SecretRefs
  readonly signWith: readonly string[]
  readonly shell: ReadonlyMap<string, string>
  /** All that a program finds in its environment besides what the execution brings. */
  readonly shellEnvironment: Readonly<Record<string, string>>
  readonly kafka: ReadonlyMap<string, KafkaClusterConfig>
  /** Null: there are no Lambda targets. */
  readonly lambda: LambdaConfig | null
  readonly concurrency: number
  readonly maxRequestSec: number
}

const known: Record<keyof TargetSettings, true> = {
  ...{ http: true, allow: true, ports: true, secrets: true, signWith: true, shell: true, concurrency: true },
  tenantSecrets: true,
  ...{ kafka: true, lambda: true, maxRequestSec: true },
}

export function targetConfig(settings: TargetSettings = {}): TargetConfig {
  checkOptions(settings, Object.keys(known), { pointer: '/targets', what: 'targets', code: 'CONFIG_INVALID' })
  const { http = true, concurrency = 200, shell = {}, maxRequestSec = 900 } = settings
  if (typeof http !== 'boolean') throw invalid('http', 'must be true or false')
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 10_000) {
    throw invalid('concurrency', `${concurrency} is not a whole number from 1 to 10000`)
  }
  if (typeof maxRequestSec !== 'number' || !(maxRequestSec > 0 && maxRequestSec <= 86_400)) {
    throw invalid('maxRequestSec', `${maxRequestSec} is not a number of seconds up to 86400`)
  }
  const allow = list('allow', settings.allow).map(allowed)
  const ports = list('ports', settings.ports).map(port)
  const signWith = list('signWith', settings.signWith)
  if (signWith.length > 2) throw invalid('signWith', 'has more than two keys', 'Two are for replacing one by the other')
  for (const ref of signWith) {
    if (typeof ref !== 'string' || !isWellFormed(ref)) {
      throw invalid('signWith', `has ${JSON.stringify(ref)}`, 'Refer to a key as env:NAME or file:/path')
    }
  }
  if (typeof shell !== 'object' || shell === null) throw invalid('shell', 'must be an object of names and programs')
  for (const [name, path] of Object.entries(shell)) checkProgram(name, path)
  return Object.freeze({
    http,
    allow,
    ports: settings.ports === undefined ? null : new Set(ports),
    secrets: new SecretRefs(list('secrets', settings.secrets), tenantSecrets(settings.tenantSecrets)),
    signWith,
    shell: new Map(Object.entries(shell)),
    shellEnvironment: environment(),
    kafka: kafkaTargetConfig(settings.kafka ?? {}),
    lambda: settings.lambda === undefined ? null : lambdaTargetConfig(settings.lambda),
    concurrency,
    maxRequestSec,
  })
}

function tenantSecrets(given: Record<string, string[]> = {}): Record<string, string[]> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw invalid('tenantSecrets', 'must be an object of tenants and lists', "Such as { acme: ['env:ACME__*'] }")
  }
  for (const [tenant, patterns] of Object.entries(given)) {
    if (tenant === '') throw invalid('tenantSecrets', 'has a tenant without a name')
    list(`tenantSecrets/${tenant}`, patterns)
  }
  return given
}

function environment(): Record<string, string> {
  const { PATH, LANG, TZ } = process.env
  return Object.freeze({ PATH: PATH ?? '/usr/bin:/bin', ...(LANG && { LANG }), ...(TZ && { TZ }) })
}

/** An address, a CIDR, or the name of a host, in lower case. */
function allowed(entry: unknown): string {
  if (typeof entry === 'string') {
    const [address = '', bits, more] = entry.split('/')
    const family = isIP(address)
    if (family !== 0 && more === undefined && !address.includes('%')) {
      const most = family === 4 ? 32 : 128
      if (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most)) return entry.toLowerCase()
    }
    if (family === 0 && bits === undefined && /^(?!.*\.\.)[a-z0-9_]([a-z0-9_.-]*[a-z0-9])?$/i.test(entry)) {
      // What a URL makes of it is what it will be compared with: 0x7f.1 is no name.
      if (URL.canParse(`http://${entry}/`) && isIP(new URL(`http://${entry}/`).hostname) === 0)
        return entry.toLowerCase()
    }
  }
  throw invalid('allow', `has ${JSON.stringify(entry)}`, 'Give an address, a CIDR such as 10.1.0.0/16, or a host name')
}

function port(entry: unknown): number {
  if (Number.isInteger(entry) && (entry as number) >= 1 && (entry as number) <= 65_535) return entry as number
  throw invalid('ports', `has ${JSON.stringify(entry)}`, 'Give whole numbers from 1 to 65535')
}

function checkProgram(name: string, path: unknown): void {
  const at = `shell/${name}`
  if (process.platform === 'win32') throw invalid('shell', 'is not there on Windows', 'Run the node on Linux or macOS')
  if (!/^[\w.-]{1,200}$/.test(name)) throw invalid(at, 'is not a name', 'Use letters, digits, dot, hyphen, underscore')
  if (typeof path !== 'string' || !isAbsolute(path)) throw invalid(at, 'must be the absolute path of a program')
  try {
    accessSync(path, constants.X_OK)
    if (statSync(path).isFile()) return
  } catch {
    // Reported below.
  }
  throw invalid(at, `names ${path}, which is no program that can be run`)
}

function list<T>(key: string, given: T[] | undefined): T[] {
  if (given === undefined) return []
  if (!Array.isArray(given)) throw invalid(key, 'must be a list')
  return given
}

function invalid(key: string, message: string, hint?: string): CarillonError {
  return new CarillonError('CONFIG_INVALID', {
    pointer: `/targets/${key}`,
    message: `targets.${key.replace('/', '.')} ${message}`,
    hint,
  })
}
