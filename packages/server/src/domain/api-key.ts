/**
 * API keys: `crl_<keyId>_<secret>`. The id says which key it is and may be shown; of the secret only the SHA-256 is kept.
 * 256 random bits cannot be guessed, so they need neither salt nor a slow hash.
 */
import crypto, { randomBytes } from 'node:crypto'

export const apiKeyPrefix = 'crl_'

const form = /^crl_([0-9a-f]{16})_([0-9a-f]{64})$/

export interface NewApiKey {
  keyId: string
  /** The whole key: shown once, kept nowhere. */
  text: string
  hash: Buffer
}

export function newApiKey(): NewApiKey {
  const keyId = randomBytes(8).toString('hex')
  const secret = randomBytes(32).toString('hex')
  return { keyId, text: `${apiKeyPrefix}${keyId}_${secret}`, hash: hashOf(secret) }
}

/** Null: not a key of this form. */
export function parseApiKey(text: string): { keyId: string; hash: Buffer } | null {
  const parts = form.exec(text)
  return parts && { keyId: parts[1]!, hash: hashOf(parts[2]!) }
}

function hashOf(secret: string): Buffer {
  return crypto.hash('sha256', secret, 'buffer')
}
