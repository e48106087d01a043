/**
 * The issuer's public keys, from a file or a URL. jose caches them and reads them again when they are old, or when a key id is
 * not known, but not more often than the cooldown allows: invented ids must not make this node flood the issuer. If
 * reading fails, jose gets the keys of the last success, so the cooldown covers failures too. An issuer that is down locks
 * no one out: known keys stay valid, and tokens with others are answered with UNAVAILABLE.
 */
import { readFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { CarillonError } from '@carillon/contract'
import { createRemoteJWKSet, customFetch, type JWK, type JWTHeaderParameters } from 'jose'
import { isUrl } from '../../config/auth-config.ts'
import type { Logger } from '../../observability/logger.ts'
import { publicKeysOf } from './public-keys.ts'

const cooldownMs = 10_000
/** Known keys are read again after this time: one that was withdrawn is then gone. */
const freshForMs = 300_000
const timeLimitMs = 5_000
const mostBytes = 1024 * 1024

export interface KeySetOptions {
  /** A path or a URL. */
  source: string
  logger: Logger
}

export class KeySet {
  readonly #source: string
  readonly #logger: Logger
  readonly #set: ReturnType<typeof createRemoteJWKSet>
  /** As of the last success. */
  #keys: JWK[] = []
  /** Why the last reading failed; null: it did not. */
  #trouble: unknown = null

  private constructor({ source, logger }: KeySetOptions) {
    this.#source = source
    this.#logger = logger
    this.#set = createRemoteJWKSet(isUrl(source) ? new URL(source) : pathToFileURL(source), {
      cooldownDuration: cooldownMs,
      cacheMaxAge: freshForMs,
      timeoutDuration: timeLimitMs,
      [customFetch]: async (_, options) => Response.json({ keys: await this.#read(options) }),
    })
  }

  /** A file must be there and of use; an issuer may be down. */
  static async open(options: KeySetOptions): Promise<KeySet> {
    const set = new KeySet(options)
    await set.#set.reload()
    if (isUrl(options.source) || set.#keys.length > 0) return set
    throw new CarillonError(
      'CONFIG_INVALID',
      {
        pointer: '/auth/jwks',
        message: `auth/jwks: ${options.source} holds no key for RS256 or ES256 that can be read`,
        hint: 'Give the path of a JSON file {"keys": […]} with public keys',
      },
      { cause: set.#trouble },
    )
  }

  /** The key for a token with this header. A token without a key id fits if only one key does. */
  async find(header: JWTHeaderParameters): Promise<CryptoKey> {
    try {
      return await this.#set(header)
    } catch (error) {
      if (this.#trouble === null) throw error
      throw new CarillonError(
        'UNAVAILABLE',
        { message: 'the keys of the issuer cannot be read now', hint: 'Try again' },
        { cause: this.#trouble },
      )
    }
  }

  async #read(options: RequestInit): Promise<JWK[]> {
    try {
      const text = isUrl(this.#source) ? await fetchText(this.#source, options) : await readFile(this.#source, 'utf8')
      this.#keys = await publicKeysOf(JSON.parse(text), this.#logger)
      this.#trouble = null
    } catch (error) {
      this.#trouble = error
      this.#logger.warn({ err: error, jwks: this.#source }, 'the keys of the issuer cannot be read')
    }
    return this.#keys
  }
}

/** jose follows no redirects: they could lead from https to plain text. */
async function fetchText(url: string, options: RequestInit): Promise<string> {
  const answer = await fetch(url, options)
  if (answer.status !== 200) throw new Error(`the answer has the status ${answer.status}`)
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length
    if (bytes > mostBytes) throw new Error(`the answer is longer than ${mostBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
