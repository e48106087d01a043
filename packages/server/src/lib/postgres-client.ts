/**
 * The PostgreSQL driver as every part of this program uses it. Two things must hold for each connection:
 *
 * - It has an `error` listener from its birth. The server can end a connection at any moment, also in the same packet
 *   that says it is ready; an `error` event without a listener ends the process.
 * - Its failures are told apart where they arise. What PostgreSQL says is a `pg.DatabaseError`. When the connection is
 *   gone, or was never made, the driver throws bare errors and errors of the socket: they become `ConnectionLostError`.
 *   Everything else the driver throws (a value that cannot be sent, two texts under one statement name) is a bug.
 */
import pg from 'pg'

/** The connection to PostgreSQL is gone or could not be made. Whether the statement took effect is not known. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError'
  readonly code = 'ERR_CONNECTION_LOST'

  constructor(cause: unknown, why = reasonOf(cause)) {
    super(`the connection to PostgreSQL failed: ${why}`, { cause })
  }
}

export interface StatementConfig extends pg.QueryConfig {
  /** After this time without an answer the connection is given up: the server is frozen, or the network is down. */
  answerWithinMs?: number
}

type Callback = (error: Error | null | undefined, result?: unknown) => void

export class PostgresClient extends pg.Client {
  /** Why this connection cannot be used any more; null: as far as is known, it can. */
  #lost: string | null = null

  constructor(config?: pg.ClientConfig) {
    super(config)
    this.on('error', (error) => {
      this.#lost ??= reasonOf(error)
    })
    this.on('end', () => {
      this.#lost ??= 'it was closed'
    })
  }

  // biome-ignore lint/suspicious/noExplicitAny: the driver's overloads, with a promise or with a callback
  override connect(callback?: any): any {
    if (callback !== undefined)
      return super.connect(((error: Error | null, client: unknown) =>
        callback(error && connectError(error), client)) as never)
    return super.connect().catch((error: unknown) => {
      throw connectError(error)
    })
  }

  // biome-ignore lint/suspicious/noExplicitAny: the driver's overloads, with a promise or with a callback
  override query(...args: any[]): any {
    const callback = args.at(-1)
    const timer = this.#watch(args[0])
    if (typeof callback === 'function') {
      let answered = false
      const named: Callback = (error, result) => {
        // The driver tells a statement that it could not send of its failure, and again when its connection ends.
        if (answered) return
        answered = true
        clearTimeout(timer)
        callback(error && this.#queryError(error), result)
      }
      return super.query(...(args.with(-1, named) as [string, never]))
    }
    const answer: unknown = super.query(...(args as [string]))
    if (!(answer instanceof Promise)) return answer
    return answer.then(
      (result) => {
        clearTimeout(timer)
        return result
      },
      (error) => {
        clearTimeout(timer)
        throw this.#queryError(error)
      },
    )
  }

  // biome-ignore lint/suspicious/noExplicitAny: the driver's overloads, with a promise or with a callback
  override end(...args: any[]): any {
    this.#lost ??= 'it was closed'
    return super.end(...(args as []))
  }

  #watch({ answerWithinMs }: StatementConfig): NodeJS.Timeout | undefined {
    if (answerWithinMs === undefined) return undefined
    return setTimeout(() => {
      this.#lost ??= `no answer within ${answerWithinMs} ms`
      // `end` would wait for what was sent before.
      ;(this as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
    }, answerWithinMs)
  }

  #queryError(error: unknown): unknown {
    if (error instanceof pg.DatabaseError || this.#lost === null) return error
    return new ConnectionLostError(error, this.#lost)
  }
}

/** A failure to get a connection: unless PostgreSQL itself refused, it could not be reached. */
export function connectError(error: unknown): unknown {
  return error instanceof pg.DatabaseError || error instanceof ConnectionLostError
    ? error
    : new ConnectionLostError(error)
}

function reasonOf(cause: unknown): string {
  const { message, code } = cause as { message?: string; code?: string }
  return message || code || String(cause)
}
