/**
 * JWTs. Which algorithms count is the operator's choice, never the token's, and each has its own kind of key: HS256 the
 * shared secret, the others public keys. So `none`, or an HMAC made with a public key, gets nowhere.
 */
import { CarillonError } from '@carillon/contract'
import { Name } from '@carillon/contract/api'
import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { Type } from 'typebox'
import type { AuthConfig } from '../../config/auth-config.ts'
import type { Clock } from '../../lib/clock.ts'
import { ExpiringMap } from '../../lib/expiring-map.ts'
import type { Caller } from '../route.ts'
import { checker } from '../validation.ts'
import { callerOf } from './caller.ts'
import type { KeySet } from './key-set.ts'
import { unauthenticated } from './refusals.ts'

const toleranceSec = 5
/** A token is proved again after this time, so that a key its issuer withdraws is soon worth nothing. */
const provedForMs = 60_000
const mostTokens = 10_000

export interface JwtVerifierOptions {
  config: AuthConfig
  keys: KeySet | null
  clock: Clock
}

export class JwtVerifier {
  readonly #config: AuthConfig
  readonly #clock: Clock
  readonly #keyFor: JWTVerifyGetKey
  readonly #proved = new ExpiringMap<string, Caller>(mostTokens)

  constructor({ config, keys, clock }: JwtVerifierOptions) {
    this.#config = config
    this.#clock = clock
    const secret = new TextEncoder().encode(config.jwtSecret)
    this.#keyFor = (header) => (header.alg === 'HS256' ? secret : keys!.find(header))
  }

  identify(token: string): Caller | Promise<Caller> {
    return this.#proved.get(token, this.#clock.now()) ?? this.#prove(token)
  }

  async #prove(token: string): Promise<Caller> {
    const now = this.#clock.now()
    const claims = await this.#verify(token, now)
    const caller = callerOfClaims(claims)
    this.#proved.set(token, caller, Math.min(claims.exp! * 1_000 + toleranceSec * 1_000, now + provedForMs))
    return caller
  }

  async #verify(token: string, now: number): Promise<JWTPayload> {
    const { algorithms, issuer, audience } = this.#config
    try {
      const { payload } = await jwtVerify(token, this.#keyFor, {
        algorithms: [...algorithms],
        requiredClaims: ['exp'],
        clockTolerance: toleranceSec,
        currentDate: new Date(now),
        ...(issuer !== undefined && { issuer }),
        ...(audience !== undefined && { audience }),
      })
      return payload
    } catch (error) {
      throw error instanceof CarillonError ? error : refusal(error)
    }
  }
}

/** Claims are looked at only after the signature: only then may the holder of the token learn what is wrong with them. */
function refusal(error: unknown): CarillonError {
  if (error instanceof errors.JWTExpired) return unauthenticated('the token has expired', 'Get a new one')
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'nbf') return unauthenticated('the token is not valid yet')
    const why = error.reason === 'missing' ? 'is missing' : 'is not the one that this installation takes'
    return unauthenticated(`the token's ${error.claim} ${why}`)
  }
  return unauthenticated('the token is not valid here')
}

const checkClaims = checker(
  Type.Object({
    tenant: Name,
    sub: Type.Optional(Name),
    scope: Type.Optional(Type.String()),
    scopes: Type.Optional(Type.Array(Type.String())),
  }),
  'body',
)

interface Claims {
  tenant: string
  sub?: string
  scope?: string
  scopes?: string[]
}

function callerOfClaims(payload: JWTPayload): Caller {
  try {
    checkClaims(payload)
  } catch (error) {
    const problems = (error as CarillonError).errors.map(({ pointer, message }) => `${pointer?.slice(1)} ${message}`)
    throw unauthenticated(`the token's ${problems.join(' and its ')}`, 'It needs tenant, sub, exp, and scope or scopes')
  }
  const { tenant, sub, scope = '', scopes = [] } = payload as unknown as Claims
  const actor = sub === undefined ? 'token' : `user:${sub}`
  return callerOf({ tenant, scopes: [...scope.split(' '), ...scopes], actor })
}
