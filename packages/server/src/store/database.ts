/**
 * Access to PostgreSQL. Every operation of the store is one statement in its own transaction (usually a call of one of
 * the functions in functions/), so a client that freezes cannot leave one half open. The time limits on the connection
 * lie below the leadership lease: a frozen leader cannot hold its shards' locks past it.
 */
import type { CarillonError } from '@carillon/contract'
import pg from 'pg'
import { assert } from '../lib/assert.ts'
import { ConnectionLostError, connectError, PostgresClient, type StatementConfig } from '../lib/postgres-client.ts'
import { quotaExceeded, type Refusal, refusalOf } from './tenants/quota-exceeded.ts'
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
  /**
   * A URL of PostgreSQL itself. If it is given, `url` leads to a pooler that lends connections by the transaction: only
   * transactions that are whole in themselves go there, everything else goes here.
   */
  directUrl?: string
  maxConnections: number
  statementTimeoutMs: number
  applicationName: string
  /** For tests and simulation: the time that SQL takes for now. Null: the server's clock. */
  virtualNow?: () => Date
  onError?: (error: Error) => void
}

/** Behind a pooler: one that listens, one that migrates or makes partitions, one to spare. */
const directConnections = 3

/** Beyond its own time limit: a server that has not answered by then is frozen or unreachable. */
const silenceMs = 5_000

export class Database {
  readonly #pool: pg.Pool
  /** For whole sessions; the same as `#pool` unless that leads to a pooler. */
  readonly #sessions: pg.Pool
  readonly #pooled: boolean
  readonly #statementTimeoutMs: number
  readonly #virtualNow: (() => Date) | undefined
  #ended: Promise<unknown> | null = null
  /** Called for each refusal because of a quota. */
  onQuotaExceeded: (quota: Refusal['quota']) => void = () => {}

  constructor(options: DatabaseOptions) {
    this.#virtualNow = options.virtualNow
    this.#statementTimeoutMs = options.statementTimeoutMs
    this.#pooled = options.directUrl !== undefined
    const { url, directUrl, maxConnections } = options
    this.#sessions =
      directUrl === undefined
        ? this.#open(options, { url, max: maxConnections })
        : this.#open(options, { url: directUrl, max: directConnections })
    this.#pool =
      directUrl === undefined ? this.#sessions : this.#open(options, { url, max: maxConnections, pooled: true })
  }

  #open(options: DatabaseOptions, { url, max, pooled }: { url: string; max: number; pooled?: true }): pg.Pool {
    const pool = new Pool({
      connectionString: url,
      max,
      application_name: options.applicationName,
      // A connection once opened stays: its first LEASE, which compiles and plans, takes [m] 27 ms of CPU instead of 0.6.
      idleTimeoutMillis: 0,
      keepAlive: true,
      keepAliveInitialDelayMillis: 1_000,
      connectionTimeoutMillis: 10_000,
      types: parsers,
      Client: PostgresClient,
      // Through a pooler nothing outlives a transaction; what belongs to one is sent in one go.
      ...(pooled ? { pipeline: true } : { onConnect: (client) => prepareSession(client, options.statementTimeoutMs) }),
    })
    // A connection lost while idle is replaced by the next query; the listener keeps it from ending the process.
    pool.on('error', options.onError ?? (() => {}))
    return pool
  }

  /** What operations pass as `p_now`. */
  get now(): Date | null {
    return this.#virtualNow?.() ?? null
  }

  /**
   * Runs one statement. `name` makes it a prepared statement, kept per connection. `withinMs`: more time than statements
   * have otherwise, for large ones whose locks block no one.
   */
  async query<Row extends pg.QueryResultRow>(
    name: string | null,
    text: string,
    values: unknown[] = [],
    options: { withinMs?: number } = {},
  ): Promise<Row[]> {
    if (name !== null) checkName(name, text)
    const answerWithinMs = (options.withinMs ?? this.#statementTimeoutMs) + silenceMs
    const query = { text, values, answerWithinMs, ...(name !== null && { name }) }
    for (let tries = 1; ; tries++) {
      try {
        if (this.#pooled) return await this.#queryPooled<Row>(options.withinMs ?? this.#statementTimeoutMs, query)
        if (options.withinMs !== undefined) return await this.#queryWithin<Row>(options.withinMs, query)
        return await this.#queryOnce<Row>(query)
      } catch (error) {
        if (tries < 10 && mayRetryAtOnce(error)) continue
        const refusal = refusalOf(error)
        if (refusal !== null) throw this.quotaExceeded(refusal)
        // From here the stack leads to the caller; where the answer was received, it leads to the socket.
        if (error instanceof pg.DatabaseError || error instanceof ConnectionLostError) Error.captureStackTrace(error)
        throw error
      }
    }
  }

  /** The error for a tenant that would exceed a quota; every refusal is counted here. */
  quotaExceeded(refusal: Refusal): CarillonError {
    this.onQuotaExceeded(refusal.quota)
    return quotaExceeded(refusal)
  }

  /** As `pool.query` does it, but for errors of getting a connection, which are named as such. */
  #queryOnce<Row extends pg.QueryResultRow>(query: StatementConfig): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      this.#pool.connect((error, client, release) => {
        if (error) return reject(connectError(error))
        client!.query<Row>(query, (error: Error | null, result) => {
          release(error ?? undefined)
          if (error) reject(error)
          else resolve(result.rows)
        })
      })
    })
  }

  /** In a transaction, so that the limit ends with it and does not stay on the connection. */
  async #queryWithin<Row extends pg.QueryResultRow>(withinMs: number, query: StatementConfig): Promise<Row[]> {
    const { answerWithinMs } = query
    const begin: StatementConfig = { text: `begin; set local statement_timeout = ${withinMs}`, answerWithinMs }
    const commit: StatementConfig = { text: 'commit', answerWithinMs }
    const client = await this.connect()
    try {
      await client.query(begin)
      const { rows } = await client.query<Row>(query)
      await client.query(commit)
      client.release()
      return rows
    } catch (error) {
      client.release(true)
      throw error
    }
  }

  /**
   * Through a pooler that lends connections by the transaction: the limits are part of it, and the statement has no name. All
   * three are sent at once, so that it takes one round trip as elsewhere.
   */
  async #queryPooled<Row extends pg.QueryResultRow>(limitMs: number, query: StatementConfig): Promise<Row[]> {
    const { text, values, answerWithinMs } = query
    const begin = `begin isolation level read committed; set local statement_timeout = ${limitMs};
      set local idle_in_transaction_session_timeout = ${limitMs}; set local jit = off`
    const client = await this.#pool.connect().catch((error: unknown) => Promise.reject(connectError(error)))
    const sent: StatementConfig[] = [{ text: begin }, { text, values }, { text: 'commit' }]
    for (const statement of sent) statement.answerWithinMs = answerWithinMs
    const answers = await Promise.allSettled(sent.map((statement) => client.query<Row>(statement)))
    const failed = answers.find((answer) => answer.status === 'rejected')
    client.release(failed !== undefined)
    if (failed !== undefined) throw failed.reason
    return (answers[1] as PromiseFulfilledResult<pg.QueryResult<Row>>).value.rows
  }

  /** A connection of its own, for LISTEN, migrations and DDL. The caller releases it. */
  async connect(): Promise<pg.PoolClient> {
    try {
      return await this.#sessions.connect()
    } catch (error) {
      throw connectError(error)
    }
  }

  /** Its connections, for metrics. */
  get connections(): { used: number; idle: number; waiting: number } {
    const pools = [...new Set([this.#pool, this.#sessions])]
    const sum = (count: (pool: pg.Pool) => number) => pools.reduce((total, pool) => total + count(pool), 0)
    const idle = sum((pool) => pool.idleCount)
    return { used: sum((pool) => pool.totalCount) - idle, idle, waiting: sum((pool) => pool.waitingCount) }
  }

  async end(): Promise<void> {
    this.#ended ??= Promise.all([...new Set([this.#pool, this.#sessions])].map((pool) => pool.end()))
    await this.#ended
  }
}

/**
 * Settings of every session. By a statement, not in the start-up message: PgBouncer refuses a connection that
 * asks for settings it does not know. The functions count on READ COMMITTED, and no statement of a scheduler is long enough
 * to be worth compiling.
 */
export function sessionSettings(statementTimeoutMs: number): string {
  return `set statement_timeout = ${statementTimeoutMs}; set idle_in_transaction_session_timeout = ${statementTimeoutMs};
    set idle_session_timeout = 0; set default_transaction_isolation = 'read committed'; set jit = off`
}

async function prepareSession(client: pg.ClientBase, statementTimeoutMs: number): Promise<void> {
  await client.query(sessionSettings(statementTimeoutMs))
}

const texts = new Map<string, string>()

/**
 * One name, one text. PostgreSQL keeps a prepared statement per connection, so two texts under one name would fail only
 * on the connections that happened to see the other one first.
 */
function checkName(name: string, text: string): void {
  const known = texts.get(name)
  if (known === undefined) texts.set(name, text)
  else assert(known === text, `two statements are called ${name}`)
}
