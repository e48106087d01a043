/**
 * The issuer's public keys, from a file or a URL. A key id that is not known makes it read again, but not more often than
 * the cooldown allows: whoever invents ids must not turn this node against the issuer. An issuer that is down takes
 * nobody in: keys that are known go on, and for others the answer is that it cannot be known now.
 */
import { readFile } from 'node:fs/promises'
import { CarillonError } from '@carillon/contract'
import { isUrl } from '../../config/auth-config.ts'
import type { Logger } from '../../observability/logger.ts'
import { type PublicKey, publicKeysOf } from './public-keys.ts'
import { unauthenticated } from './refusals.ts'

const cooldownMs = 10_000
/** Known keys are read again after this time: one that was withdrawn is then gone. */
const freshForMs = 300_000
const timeLimitMs = 5_000
const mostBytes = 1024 * 1024

export interface KeySetOptions {
  /** A path or a URL. */
  source: string
  logger: Logger
  /** Monotonic milliseconds. */
  ticks: () => number
}

export class KeySet {
  readonly #source: string
  readonly #logger: Logger
  readonly #ticks: () => number
  #keys: PublicKey[] = []
  #readAt = Number.NEGATIVE_INFINITY
  #trouble: unknown = null
  #reading: Promise<void> | null = null

  private constructor({ source, logger, ticks }: KeySetOptions) {
    this.#source = source
    this.#logger = logger
    this.#ticks = ticks
  }

  /** A file must be there and of use; an issuer may be down. */
  static async open(options: KeySetOptions): Promise<KeySet> {
    const set = new KeySet(options)
    await set.#read()
    if (isUrl(options.source) || (set.#trouble === null && set.#keys.length > 0)) return set
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

  async find(alg: string, kid: string | undefined): Promise<CryptoKey> {
    if (this.#age >= freshForMs) await this.#read()
    const known = this.#look(alg, kid)
    if (known) return known
    if (this.#reading || this.#age >= cooldownMs) await this.#read()
    const found = this.#look(alg, kid)
    if (found) return found
    if (this.#trouble === null) throw unauthenticated('the token is not valid here')
    throw new CarillonError(
      'UNAVAILABLE',
      { message: 'the keys of the issuer cannot be read now', hint: 'Try again' },
      { cause: this.#trouble },
    )
  }

  get #age(): number {
    return this.#ticks() - this.#readAt
  }

  /** A token without a key id fits if only one key does. */
  #look(alg: string, kid: string | undefined): CryptoKey | undefined {
    const fitting = this.#keys.filter((key) => key.alg === alg && (kid === undefined || key.kid === kid))
    return kid === undefined && fitting.length > 1 ? undefined : fitting[0]?.key
  }

  /** One at a time, and never throws: what went wrong is remembered. */
  #read(): Promise<void> {
    this.#reading ??= this.#readNow().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }

  async #readNow(): Promise<void> {
    this.#readAt = this.#ticks()
    try {
      const text = isUrl(this.#source) ? await fetchText(this.#source) : await readFile(this.#source, 'utf8')
      this.#keys = await publicKeysOf(JSON.parse(text), this.#logger)
      this.#trouble = null
    } catch (error) {
      this.#trouble = error
      this.#logger.warn({ err: error, jwks: this.#source }, 'the keys of the issuer cannot be read')
    }
  }
}

/** No redirects: they could lead from https to plain text. */
async function fetchText(url: string): Promise<string> {
  const answer = await fetch(url, {
    headers: { accept: 'application/jwk-set+json, application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(timeLimitMs),
  })
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length
    if (bytes > mostBytes) throw new Error(`the answer is longer than ${mostBytes} bytes`)
    chunks.push(chunk)
  }
  if (answer.status !== 200) throw new Error(`the answer has the status ${answer.status}`)
  return Buffer.concat(chunks).toString('utf8')
}
