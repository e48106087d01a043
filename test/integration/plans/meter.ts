/**
 * A connection that tells what each statement of the store read. PostgreSQL's auto_explain sends the plan of every
 * statement, with the buffers it touched, back over the connection; those of a call of a function contain whatever ran
 * inside. So the store's own operations are measured, prepared statements and all, not copies of their SQL.
 */
import { Database } from '../../../packages/server/src/store/database.ts'
import { now } from './load.ts'

export interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Shared Hit Blocks'?: number
  'Shared Read Blocks'?: number
  Plans?: PlanNode[]
}

export interface Reading {
  /** Shared buffers, found or read. */
  buffers: number
  ms: number
}

export class Meter {
  readonly database: Database
  /** The plans of what was last read; of what ran inside as well, after `lookInside`. */
  plans: PlanNode[] = []
  #notices: string[] = []

  private constructor(database: Database) {
    this.database = database
  }

  static async open(url: string): Promise<Meter> {
    // One connection: what is set on it holds for every statement.
    const database = new Database({
      url,
      maxConnections: 1,
      statementTimeoutMs: 60_000,
      applicationName: 'meter',
      virtualNow: () => new Date(now),
    })
    const meter = new Meter(database)
    const client = await database.connect()
    client.on('notice', ({ message }) => meter.#notices.push(message ?? ''))
    await client.query(`
      load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_format = json;
      set auto_explain.log_analyze = on; set auto_explain.log_buffers = on; set auto_explain.log_timing = off;
      set client_min_messages = log`)
    client.release()
    return meter
  }

  /** From now on the plans inside functions are seen, too. That takes time, which the readings then contain. */
  async lookInside(): Promise<void> {
    await this.database.query(null, 'set auto_explain.log_nested_statements = on')
  }

  /** What the one statement of `work` reads, and how long the server is at it. */
  async read<T>(work: (database: Database) => Promise<T>): Promise<Reading & { result: T }> {
    this.#notices = []
    const result = await work(this.database)
    const explained = this.#notices.filter((notice) => notice.startsWith('duration:')).map(parse)
    this.plans = explained.map(({ plan }) => plan)
    // What ran inside ended before.
    const { ms, plan } = explained.at(-1)!
    return { result, ms, buffers: plan['Shared Hit Blocks']! + plan['Shared Read Blocks']! }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database.end()
  }
}

function parse(notice: string): { ms: number; plan: PlanNode } {
  const [, ms, json] = /^duration: ([\d.]+) ms {2}plan:\n([\s\S]*)$/.exec(notice)!
  return { ms: Number(ms), plan: JSON.parse(json!).Plan }
}

export function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
}
