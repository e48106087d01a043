/**
 * Tokens with which an external system reports the outcome of one execution. Each is bound to one lease: it holds the fence and
 * an HMAC of execution and fence, so it is valid for nothing else and cannot be forged.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Database } from '../store/database.ts'
import { readSecret } from '../store/installation/secret.ts'

export class BoundTokens {
  readonly #database: Database
  #secret: Promise<Buffer> | null = null

  constructor(database: Database) {
    this.#database = database
  }

  async make(executionId: string, fence: number): Promise<string> {
    return `${fence}.${await this.#mac(executionId, fence)}`
  }

  /** The fence the token is bound to; null if it was not made here for this execution. */
  async fenceOf(executionId: string, token: string): Promise<number | null> {
    const fence = Number(/^(\d{1,16})\.[\w-]{43}$/.exec(token)?.[1])
    if (!Number.isSafeInteger(fence)) return null
    const [given, made] = [Buffer.from(token), Buffer.from(await this.make(executionId.toLowerCase(), fence))]
    return given.length === made.length && timingSafeEqual(given, made) ? fence : null
  }

  async #mac(executionId: string, fence: number): Promise<string> {
    this.#secret ??= readSecret(this.#database).catch((error: unknown) => {
      this.#secret = null
      throw error
    })
    return createHmac('sha256', await this.#secret)
      .update(`complete:${executionId}:${fence}`)
      .digest('base64url')
  }
}
