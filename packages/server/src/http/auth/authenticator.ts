/**
 * Authentication and authorisation. No body is read before they pass. A token that was proved a moment ago is
 * known again by its text, so that on the hot path it costs microseconds.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Scope } from '@carillon/contract'
import type { AuthConfig } from '../../config/auth-config.ts'
import { apiKeyPrefix } from '../../domain/api-key.ts'
import { type Clock, monotonicMs } from '../../lib/clock.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Database } from '../../store/database.ts'
import type { Caller } from '../route.ts'
import { ApiKeys } from './api-keys.ts'
import { actingFor } from './caller.ts'
import { JwtVerifier } from './jwt.ts'
import { KeySet } from './key-set.ts'
import { scopeMissing, unauthenticated } from './refusals.ts'

export interface Authenticator {
  /** False: it asks for no tokens. */
  tokens?: false
  /** Called for every request, of public routes too. Throws to refuse a request before anything else. */
  admit?(request: { method?: string; headers: IncomingHttpHeaders }): void
  /**
   * Throws UNAUTHENTICATED, SCOPE_MISSING or TENANT_NOT_YOURS; UNAVAILABLE if it cannot be known now. Answers at once if it is
   * known.
   */
  authenticate(headers: IncomingHttpHeaders, scope: Scope | 'any'): Caller | Promise<Caller>
}

export interface AuthParts {
  database: Database
  clock: Clock
  /** Measures how old something is. */
  ticks?: () => number
  logger: Logger
}

/** Reads the issuer's keys; a file of keys that cannot be used is CONFIG_INVALID. */
export async function createAuthenticator(config: AuthConfig, parts: AuthParts): Promise<Authenticator> {
  const { clock, database, logger, ticks = monotonicMs } = parts
  const keys = config.jwks === undefined ? null : await KeySet.open({ source: config.jwks, logger })
  return new TokenAuthenticator({
    apiKeys: new ApiKeys({ database, clock, ticks }),
    jwt: config.algorithms.length === 0 ? null : new JwtVerifier({ config, keys, clock }),
  })
}

/** Longer ones are no tokens of ours, and would only fill the memory. */
const longestToken = 8_192

class TokenAuthenticator implements Authenticator {
  readonly #apiKeys: ApiKeys
  readonly #jwt: JwtVerifier | null

  constructor({ apiKeys, jwt }: { apiKeys: ApiKeys; jwt: JwtVerifier | null }) {
    this.#apiKeys = apiKeys
    this.#jwt = jwt
  }

  authenticate(headers: IncomingHttpHeaders, scope: Scope | 'any'): Caller | Promise<Caller> {
    const identified = this.#identify(bearerToken(headers.authorization))
    if (identified instanceof Promise) return identified.then((caller) => permitted(caller, headers, scope))
    return permitted(identified, headers, scope)
  }

  #identify(token: string): Promise<Caller> | Caller {
    if (token.startsWith(apiKeyPrefix)) return this.#apiKeys.identify(token)
    if (this.#jwt === null) throw unauthenticated('the token is not an API key', 'This installation takes no others')
    return this.#jwt.identify(token)
  }
}

function permitted(identified: Caller, headers: IncomingHttpHeaders, scope: Scope | 'any'): Caller {
  const caller = actingFor(identified, headers)
  if (scope !== 'any' && !caller.scopes.has(scope)) throw scopeMissing(scope)
  return caller
}

function bearerToken(header: string | undefined): string {
  if (header === undefined) throw unauthenticated('a token is needed', 'Send Authorization: Bearer …')
  if (header.slice(0, 7).toLowerCase() !== 'bearer ') {
    throw unauthenticated('Authorization is not a bearer token', 'Send Authorization: Bearer …')
  }
  const token = header.slice(7).trim()
  if (token === '') throw unauthenticated('the token is empty', 'Send Authorization: Bearer …')
  if (token.length > longestToken) throw unauthenticated(`the token is longer than ${longestToken} characters`)
  return token
}
