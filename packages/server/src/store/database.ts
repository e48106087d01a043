/**
 * The way to PostgreSQL. Every operation of the store is one statement in its own transaction (usually a call of one of
 * the functions in functions/), so a client that freezes cannot leave one half open. The time limits on the connection
 * lie below the leadership lease: a frozen leader cannot hold its shards' locks past it.
 */
import pg from 'pg'
import { mayRetryAtOnce } from './trouble.ts'

const { Pool, types } = pg

/** int8 as number: fences, tags and milliseconds stay far below 2^53. */
const parsers: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === types.builtins.INT8) return Number
    if (oid === 1016) return (text: string) => (text === '{}' ? [] : text.slice(1, -1).split(',').map(Number)) // int8[]
    return types.getTypeParser(oid, format as 'text')
  },
} as pg.CustomTypesConfig

export interface DatabaseOptions {
  url: string
  maxConnections: number
  statementTimeoutMs: number
  applicationName: string
  /** For tests and simulation: the time that SQL takes for now. Null: the server's clock. */
  virtualNow?: () => Date
  onError?: (error: Error) => void
}

export class Database {
  readonly #pool: pg.Pool
  readonly #virtualNow: (() => Date) | undefined

  constructor(options: DatabaseOptions) {
    this.#virtualNow = options.virtualNow
    this.#pool = new Pool({
      connectionString: options.url,
      max: options.maxConnections,
      application_name: options.applicationName,
      keepAlive: true,
      keepAliveInitialDelayMillis: 1_000,
      connectionTimeoutMillis: 10_000,
      statement_timeout: options.statementTimeoutMs,
      idle_in_transaction_session_timeout: options.statementTimeoutMs,
      types: parsers,
    })
    // A connection lost while idle is replaced by the next query; the listener keeps it from ending the process.
    this.#pool.on('error', options.onError ?? (() => {}))
  }

  /** What operations pass as `p_now`. */
  get now(): Date | null {
    return this.#virtualNow?.() ?? null
  }

  /** Runs one statement. `name` makes it a prepared statement, kept per connection. */
  async query<Row extends pg.QueryResultRow>(
    name: string | null,
    text: string,
    values: unknown[] = [],
  ): Promise<Row[]> {
    for (let tries = 1; ; tries++) {
      try {
        const result = await this.#pool.query<Row>(name === null ? { text, values } : { name, text, values })
        return result.rows
      } catch (error) {
        if (tries >= 10 || !mayRetryAtOnce(error)) throw error
      }
    }
  }

  /** A connection of its own, for LISTEN, migrations and DDL. The caller releases it. */
  async connect(): Promise<pg.PoolClient> {
    const client = await this.#pool.connect()
    // Lost while in use: the statement under way says so. Without a listener the process would end.
    client.on('error', () => {})
    return client
  }

  async end(): Promise<void> {
    await this.#pool.end()
  }
}
