/** Public keys out of a JWKS (RFC 7517). Of each only the public part is taken; what is of no use to us is left out. */
import type { webcrypto } from 'node:crypto'
import { importJWK, type JWK } from 'jose'
import type { Logger } from '../../observability/logger.ts'

const fewestRsaBits = 2_048

/** Each with its algorithm. Throws if it is not a JWKS at all. */
export async function publicKeysOf(document: unknown, logger: Logger): Promise<JWK[]> {
  const entries = (document as { keys?: unknown } | null)?.keys
  if (!Array.isArray(entries)) throw new Error('it is not a JWKS: `keys` is not a list')
  const keys: JWK[] = []
  for (const entry of entries as (JWK | null)[]) {
    const alg = entry && algorithmOf(entry)
    if (!alg) continue
    // Of two with one id the first counts.
    if (entry.kid !== undefined && keys.some((key) => key.kid === entry.kid && key.alg === alg)) continue
    try {
      const key = publicPart(entry, alg)
      await requireStrength(key)
      keys.push(key)
    } catch (error) {
      logger.warn({ err: error, kid: entry.kid }, 'a key of the issuer cannot be used')
    }
  }
  return keys
}

function algorithmOf({ kty, crv, use, alg, key_ops: uses }: JWK): 'RS256' | 'ES256' | null {
  if (use !== undefined && use !== 'sig') return null
  if (uses !== undefined && !uses.includes('verify')) return null
  const fits = kty === 'RSA' ? 'RS256' : kty === 'EC' && crv === 'P-256' ? 'ES256' : null
  return alg === undefined || alg === fits ? fits : null
}

function publicPart({ kid, kty, n, e, crv, x, y }: JWK, alg: string): JWK {
  return { kid, alg, ...(kty === 'RSA' ? { kty, n, e } : { kty, crv, x, y }) }
}

/** Throws if it cannot be imported either. */
async function requireStrength(jwk: JWK): Promise<void> {
  const { algorithm } = (await importJWK(jwk)) as CryptoKey
  const { modulusLength = fewestRsaBits } = algorithm as webcrypto.RsaHashedKeyAlgorithm
  if (modulusLength < fewestRsaBits) throw new Error(`an RSA key needs ${fewestRsaBits} bits, not ${modulusLength}`)
}
