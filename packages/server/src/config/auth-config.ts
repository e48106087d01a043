/** Authentication settings, checked once. Secrets never appear in messages. */
import { CarillonError, checkOptions } from '@carillon/contract'
import { isLoopback } from './loopback.ts'

export const jwtAlgorithms = ['HS256', 'RS256', 'ES256'] as const
export type JwtAlgorithm = (typeof jwtAlgorithms)[number]

export interface AuthSettings {
  /** The shared secret of HS256 tokens, at least 32 bytes. */
  jwtSecret?: string
  /** The issuer's public keys, for RS256 and ES256: the path or URL of a JWKS. */
  jwks?: string
  /** Left out: all that the keys given are for. */
  algorithms?: readonly JwtAlgorithm[]
  /** What `iss` must be. */
  issuer?: string
  /** What `aud` must be or contain. */
  audience?: string
  /** Always on beside the others; alone it says that nothing else is. */
  apiKeys?: true
}

export interface AuthConfig extends AuthSettings {
  /** Empty: API keys only. */
  readonly algorithms: readonly JwtAlgorithm[]
}

const fewestSecretBytes = 32

const known: Record<keyof AuthSettings, true> = {
  jwtSecret: true,
  jwks: true,
  algorithms: true,
  issuer: true,
  audience: true,
  apiKeys: true,
}

/** `plainAllowed`: the operator has said `insecure`. */
export function authConfig(settings: AuthSettings, plainAllowed: boolean): AuthConfig {
  if (typeof settings !== 'object' || settings === null) {
    throw invalid('', "is neither 'off' nor a group of settings", `Known are ${Object.keys(known).join(', ')}`)
  }
  checkOptions(settings, Object.keys(known), { pointer: '/auth', what: 'auth', code: 'CONFIG_INVALID' })
  for (const [key, value] of Object.entries(settings)) {
    if (key === 'algorithms' || key === 'apiKeys' || value === undefined) continue
    if (typeof value !== 'string' || value === '') throw invalid(key, 'must be a text that is not empty')
  }
  if (settings.apiKeys !== undefined && settings.apiKeys !== true) {
    throw invalid('apiKeys', 'can only be true', "API keys are on wherever auth is; `auth: 'off'` turns all of it off")
  }
  if (settings.jwtSecret !== undefined) checkSecret(settings.jwtSecret)
  if (settings.jwks !== undefined) checkSource(settings.jwks, plainAllowed)
  const algorithms = algorithmsOf(settings)
  for (const key of ['issuer', 'audience'] as const) {
    if (settings[key] !== undefined && algorithms.length === 0) {
      throw invalid(key, 'is about JWTs, and no key for them is given', 'Give jwtSecret or jwks as well')
    }
  }
  return Object.freeze({ ...settings, algorithms })
}

function checkSecret(secret: string): void {
  if (secret.startsWith('-----BEGIN')) {
    throw invalid('jwtSecret', 'is a PEM key, and HS256 has one secret for both sides', 'Give public keys as jwks')
  }
  if (Buffer.byteLength(secret) < fewestSecretBytes) {
    throw invalid('jwtSecret', `is shorter than ${fewestSecretBytes} bytes`, 'Make one: openssl rand -base64 48')
  }
}

/** An attacker who can change the keys in transit can sign tokens. */
function checkSource(source: string, plainAllowed: boolean): void {
  if (!isUrl(source)) return
  if (!URL.canParse(source)) throw invalid('jwks', 'is not a URL')
  const { protocol, hostname } = new URL(source)
  if (protocol === 'https:' || plainAllowed || isLoopback(hostname.replace(/^\[|\]$/g, ''))) return
  throw invalid('jwks', 'comes over plain text', 'Use https://, or --insecure')
}

export function isUrl(source: string): boolean {
  return /^https?:\/\//i.test(source)
}

function algorithmsOf({ algorithms, jwtSecret, jwks }: AuthSettings): readonly JwtAlgorithm[] {
  const possible = jwtAlgorithms.filter((name) => (name === 'HS256' ? jwtSecret : jwks) !== undefined)
  if (algorithms === undefined) return possible
  if (!Array.isArray(algorithms) || algorithms.length === 0) throw invalid('algorithms', 'must be a list of names')
  for (const name of algorithms) {
    if (!jwtAlgorithms.includes(name)) {
      throw invalid('algorithms', `${String(name)} is not known`, `Use one of ${jwtAlgorithms.join(', ')}`)
    }
    if (!possible.includes(name)) {
      throw invalid('algorithms', `${name} has no key`, `Give ${name === 'HS256' ? 'jwtSecret' : 'jwks'} as well`)
    }
  }
  for (const key of ['jwtSecret', 'jwks'] as const) {
    const used = algorithms.some((name) => (name === 'HS256') === (key === 'jwtSecret'))
    if ((key === 'jwtSecret' ? jwtSecret : jwks) !== undefined && !used) {
      throw invalid(key, 'is for none of the algorithms', 'Leave it out, or name its algorithm')
    }
  }
  return [...new Set(algorithms)]
}

function invalid(key: string, message: string, hint?: string): CarillonError {
  const pointer = key === '' ? '/auth' : `/auth/${key}`
  return new CarillonError('CONFIG_INVALID', { pointer, message: `${pointer.slice(1)} ${message}`, hint })
}
