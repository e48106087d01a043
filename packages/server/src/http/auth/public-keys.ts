/** Public keys out of a JWKS (RFC 7517). Of each only the public part is taken; what is of no use to us is left out. */
import type { webcrypto } from 'node:crypto'
import { importJWK, type JWK } from 'jose'
import type { Logger } from '../../observability/logger.ts'

export interface PublicKey {
  kid: string | undefined
  alg: string
  key: CryptoKey
}

const fewestRsaBits = 2_048

/** Throws if it is not a JWKS at all. */
export async function publicKeysOf(document: unknown, logger: Logger): Promise<PublicKey[]> {
  const entries = (document as { keys?: unknown } | null)?.keys
  if (!Array.isArray(entries)) throw new Error('it is not a JWKS: `keys` is not a list')
  const keys: PublicKey[] = []
  for (const entry of entries as (JWK | null)[]) {
    const alg = entry && algorithmOf(entry)
    if (!alg) continue
    try {
      keys.push({ kid: entry.kid, alg, key: await importPublic(entry, alg) })
    } catch (error) {
      logger.warn({ err: error, kid: entry.kid }, 'a key of the issuer is of no use')
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

async function importPublic({ kty, n, e, crv, x, y }: JWK, alg: string): Promise<CryptoKey> {
  const key = (await importJWK(kty === 'RSA' ? { kty, n, e } : { kty, crv, x, y }, alg)) as CryptoKey
  const { modulusLength = fewestRsaBits } = key.algorithm as webcrypto.RsaHashedKeyAlgorithm
  if (modulusLength < fewestRsaBits) throw new Error(`an RSA key needs ${fewestRsaBits} bits, not ${modulusLength}`)
  return key
}
