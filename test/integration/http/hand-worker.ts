/** A worker that is a handful of requests: what the protocol says, and nothing else. */
import pg from 'pg'
import { type Asked, ask, type HttpNode } from '../../support/http-node.ts'

export interface Held {
  executionId: string
  fence: number
}

export class HandWorker {
  readonly workerId: string
  readonly #url: string
  readonly #headers: Record<string, string>

  constructor(url: string, workerId: string, headers: Record<string, string> = {}) {
    this.#url = url
    this.workerId = workerId
    this.#headers = headers
  }

  static async register(
    url: string,
    { pools = ['default'], headers = {} }: { pools?: string[]; headers?: Record<string, string> } = {},
  ): Promise<HandWorker> {
    const body = { name: 'by hand', pools: pools.map((pool) => ({ pool, handlers: ['h'], slots: 10 })) }
    const { status, body: welcome } = await ask(url, 'POST /v1/workers', body, headers)
    if (status !== 201) throw new Error(JSON.stringify(welcome))
    return new HandWorker(url, welcome.workerId, headers)
  }

  /** The same worker, speaking to another node. */
  at(url: string): HandWorker {
    return new HandWorker(url, this.workerId, this.#headers)
  }

  lease(wish: object = {}): Promise<Asked> {
    return this.#ask('POST', '/lease', { pool: 'default', slots: 1, waitMs: 10_000, ...wish })
  }

  report(said: object = {}): Promise<Asked> {
    return this.#ask('POST', '/report', said)
  }

  succeed(held: Held, result: unknown = null): Promise<Asked> {
    return this.report({ outcomes: [{ ...keyOf(held), outcome: 'SUCCEEDED', result }] })
  }

  leave(): Promise<Asked> {
    return this.#ask('DELETE', '')
  }

  /** A long poll whose connection can be cut. */
  async cut(wish: object, signal: AbortSignal): Promise<Held[] | null> {
    try {
      const answer = await fetch(`${this.#url}/v1/workers/${this.workerId}/lease`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...this.#headers },
        body: JSON.stringify({ pool: 'default', slots: 1, waitMs: 10_000, ...wish }),
        signal,
      })
      return ((await answer.json()) as { executions: Held[] }).executions
    } catch (error) {
      if (signal.aborted) return null
      throw error
    }
  }

  #ask(method: string, path: string, body?: object): Promise<Asked> {
    return ask(this.#url, `${method} /v1/workers/${this.workerId}${path}`, body, this.#headers)
  }
}

export function keyOf({ executionId, fence }: Held): Held {
  return { executionId, fence }
}

/** The database of a node, to put work into and to look at what became of it. */
export class Ledger {
  readonly sql: pg.Pool

  constructor(node: HttpNode) {
    this.sql = new pg.Pool({ connectionString: node.databaseUrl, max: 2 })
    this.sql.on('error', () => {})
  }

  async enqueue({ pool = 'default', tenant = 'default', payload = {}, policy = null, times = 1 } = {} as Enqueued) {
    const { rows } = await this.sql.query(
      `select carillon.enqueue('h', $1::json, pool => $2, tenant => $3, policy => $4) id from generate_series(1, $5)`,
      [JSON.stringify(payload), pool, tenant, policy === null ? null : JSON.stringify(policy), times],
    )
    await this.hint()
    return rows.map((row) => row.id as string)
  }

  /** What the function cannot say inside the caller's transaction: that something is due. */
  async hint(): Promise<void> {
    const signals = [{ kind: 'DUE', at: 0 }]
    await this.sql.query(`select pg_notify('carillon', $1)`, [JSON.stringify({ from: 'a test', signals })])
  }

  async execution(executionId: string): Promise<{ state: string | null; attempt: number; [column: string]: unknown }> {
    const { rows } = await this.sql.query(
      `select e.*, (select to_jsonb(r) from carillon.running r where r.execution_id = e.execution_id) running
       from carillon.executions e where e.execution_id = $1`,
      [executionId],
    )
    return rows[0]
  }

  /** How many nodes lead shards. */
  async leaders(): Promise<number> {
    const { rows } = await this.sql.query('select count(distinct node_id)::int n from carillon.shards')
    return rows[0].n
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sql.end()
  }
}

interface Enqueued {
  pool?: string
  tenant?: string
  payload?: unknown
  policy?: object | null
  times?: number
}
