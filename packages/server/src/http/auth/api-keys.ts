/**
 * API keys against the table. What was read is at most 10 s old, so a revocation holds everywhere after that time; what is
 * in use is read again before that, and nobody waits for it. Keys that do not exist are remembered as well, apart from the
 * others: guessing neither evicts known keys nor causes more than one query at a time.
 */
import { timingSafeEqual } from 'node:crypto'
import { parseApiKey } from '../../domain/api-key.ts'
import { Batcher } from '../../lib/batcher.ts'
import type { Clock } from '../../lib/clock.ts'
import { ExpiringMap } from '../../lib/expiring-map.ts'
import { type KeyToCheck, readKeys } from '../../store/api-keys/read.ts'
import type { Database } from '../../store/database.ts'
import type { Caller } from '../route.ts'
import { callerOf, everyTenant } from './caller.ts'
import { unauthenticated } from './refusals.ts'

const oldestMs = 10_000
const mostKeys = 10_000

interface KnownKey {
  hash: Buffer
  /** Until when what was read may be used. */
  until: number
  expiresAt: number
  revoked: boolean
  caller: Caller
}

export class ApiKeys {
  readonly #clock: Clock
  readonly #ticks: () => number
  readonly #reader: Batcher<string, KeyToCheck | undefined>
  readonly #reading = new Map<string, Promise<KnownKey | null>>()
  readonly #known = new ExpiringMap<string, KnownKey>(mostKeys)
  readonly #unknown = new ExpiringMap<string, null>(mostKeys)
  /** By their whole text: what was proved a moment ago need not be hashed again. [m] 4 % of a single submission. */
  readonly #proved = new ExpiringMap<string, KnownKey>(mostKeys)

  constructor({ database, clock, ticks }: { database: Database; clock: Clock; ticks: () => number }) {
    this.#clock = clock
    this.#ticks = ticks
    this.#reader = new Batcher({
      maxItems: () => 1_000,
      flush: async (keyIds) => {
        const keys = await readKeys(database, keyIds)
        return keyIds.map((keyId) => keys.get(keyId))
      },
    })
  }

  identify(text: string): Caller | Promise<Caller> {
    const now = this.#ticks()
    const known = this.#proved.get(text, now)
    if (known === undefined) return this.#prove(text).then((key) => this.#valid(key))
    if (known.until - now < oldestMs / 2) this.#prove(text, known).catch(() => {})
    return this.#valid(known)
  }

  #valid(key: KnownKey): Caller {
    if (key.revoked) throw unauthenticated('the API key was revoked', 'Ask for a new one')
    if (key.expiresAt <= this.#clock.now()) throw unauthenticated('the API key has expired', 'Ask for a new one')
    return key.caller
  }

  /** `old`: what is to be read anew. */
  async #prove(text: string, old?: KnownKey): Promise<KnownKey> {
    const given = parseApiKey(text)
    if (given === null) throw notKnown()
    const now = this.#ticks()
    let key = this.#known.get(given.keyId, now) ?? this.#unknown.get(given.keyId, now)
    if (key === undefined || key === old) key = await this.#read(given.keyId)
    if (key === null || !timingSafeEqual(key.hash, given.hash)) throw notKnown()
    this.#proved.set(text, key, key.until)
    return key
  }

  /** Those who ask for the same key meanwhile wait for the same answer. */
  #read(keyId: string): Promise<KnownKey | null> {
    const under = this.#reading.get(keyId)
    if (under) return under
    const until = this.#ticks() + oldestMs
    const reading = this.#reader
      .add(keyId)
      .then((row) => {
        const key = row === undefined ? null : knownKey(row, until)
        if (key === null) this.#unknown.set(keyId, null, until)
        else this.#known.set(keyId, key, until)
        return key
      })
      .finally(() => this.#reading.delete(keyId))
    this.#reading.set(keyId, reading)
    return reading
  }
}

function knownKey({ keyId, hash, tenant, scopes, expiresAt, revokedAt }: KeyToCheck, until: number): KnownKey {
  return {
    hash,
    until,
    expiresAt: expiresAt?.getTime() ?? Number.POSITIVE_INFINITY,
    revoked: revokedAt !== null,
    caller: callerOf({ tenant: tenant ?? everyTenant, scopes, actor: `key:${keyId}` }),
  }
}

function notKnown() {
  return unauthenticated('the API key is not known here')
}
