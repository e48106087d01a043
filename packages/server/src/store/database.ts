/**
 * The way to PostgreSQL. Every operation of the store is one statement in its own transaction (usually a call of one of
 * the functions in functions/), so a client that freezes cannot leave one half open. The time limits on the connection
 * lie below the leadership lease: a frozen leader cannot hold its shards' locks past it.
 */
import pg from 'pg'
import { mayRetryAtOnce } from './trouble.ts'

const { Pool, types } = pg

/** int8 as number: fences, tags and milliseconds stay far below 2^53. */
export const parsers: pg.CustomTypesConfig = {
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

/** Beyond its own time limit: a server that says nothing by then is frozen, or the way to it is gone without a word. */
const silenceMs = 5_000

export class Database {
  readonly #pool: pg.Pool
  readonly #statementTimeoutMs: number
  readonly #virtualNow: (() => Date) | undefined

  constructor(options: DatabaseOptions) {
    this.#virtualNow = options.virtualNow
    this.#statementTimeoutMs = options.statementTimeoutMs
    this.#pool = new Pool({
      connectionString: options.url,
      max: options.maxConnections,
      application_name: options.applicationName,
      // A connection once opened stays: its first LEASE, which compiles and plans, takes [m] 27 ms of CPU instead of 0.6.
      idleTimeoutMillis: 0,
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

  /**
   * Runs one statement. `name` makes it a prepared statement, kept per connection. `withinMs`: more time than statements
   * have otherwise, for large ones whose locks nobody waits for.
   */
  async query<Row extends pg.QueryResultRow>(
    name: string | null,
    text: string,
    values: unknown[] = [],
    options: { withinMs?: number } = {},
  ): Promise<Row[]> {
    const query_timeout = (options.withinMs ?? this.#statementTimeoutMs) + silenceMs
    const query = { text, values, query_timeout, ...(name !== null && { name }) }
    for (let tries = 1; ; tries++) {
      try {
        if (options.withinMs !== undefined) return await this.#queryWithin<Row>(options.withinMs, query)
        const result = await this.#pool.query<Row>(query)
        return result.rows
      } catch (error) {
        if (tries >= 10 || !mayRetryAtOnce(error)) throw error
      }
    }
  }

  /** In a transaction, so that the limit is gone with it, whoever is given the connection next. */
  async #queryWithin<Row extends pg.QueryResultRow>(
    withinMs: number,
    query: pg.QueryConfig & { query_timeout: number },
  ): Promise<Row[]> {
    const { query_timeout } = query
    const begin = { text: `begin; set local statement_timeout = ${withinMs}`, query_timeout }
    const commit = { text: 'commit', query_timeout }
    const client = await this.#pool.connect()
    const ignore = () => {} // the statement under way says it
    client.on('error', ignore)
    try {
      await client.query(begin)
      const { rows } = await client.query<Row>(query)
      await client.query(commit)
      client.off('error', ignore)
      client.release()
      return rows
    } catch (error) {
      client.release(true)
      throw error
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
