/**
 * An installation after a real run in which everything happened that leaves a mark in its tables, and a way to change those by hand
 * and take it back.
 */
import { silentLogger } from '@carillon/contract/process'
import { createWorker, defineHandler, implementHandler } from '@carillon/sdk'
import pg from 'pg'
import { type Database, parsers } from '../../packages/server/src/store/database.ts'
import { type Verification, verifyInstallation } from '../../packages/server/src/verification/installation.ts'
import { type HttpNode, httpNode } from '../support/http-node.ts'
import { until } from '../support/until.ts'

const retryPolicy = { maxAttempts: 2, backoff: 'FIXED', initialDelayMs: 50, jitter: 0 }

/** One execution of each kind that a tampering may be tried on; none that is about to change by itself. */
export const kinds = {
  'a fire that succeeded': `origin = 'SCHEDULE' and state = 'SUCCEEDED' and job_version is not null and not guarded`,
  'a submission that succeeded': `origin = 'SUBMIT' and state = 'SUCCEEDED'`,
  'a trigger that succeeded': `origin = 'TRIGGER' and state = 'SUCCEEDED'`,
  'a one-shot that succeeded': `origin = 'SCHEDULE' and state = 'SUCCEEDED' and job_id = execution_id`,
  'a dead letter': `state = 'DEAD'`,
  'one that was cancelled': `state = 'CANCELLED'`,
  'one skipped for a pause': `state = 'SKIPPED' and reason = 'PAUSED' and skipped_count > 1`,
  'one skipped for an overlap': `state = 'SKIPPED' and reason = 'OVERLAP'`,
  'one skipped for its start window': `state = 'SKIPPED' and reason = 'EXPIRED'`,
  'one that runs': `handler = 'stay' and execution_id in (select execution_id from carillon.running)`,
  'one that is ready': `pool = 'nobody' and expires_at is null and execution_id in (select execution_id from carillon.ready)`,
  'one that is to be tried again': `execution_id in (select execution_id from carillon.retries where due > now() + interval '1 minute')`,
  'one that waits': `execution_id in (select execution_id from carillon.waiting)`,
} as const
export type Kind = keyof typeof kinds

export interface Tampered {
  counts: Verification['counts']
  lost: number
  whys: string[]
}

export class TamperedInstallation {
  readonly #node: HttpNode
  readonly #sql: pg.Client
  readonly #from: number
  readonly #dispose: () => Promise<void>
  readonly #chosen = new Map<Kind, string>()

  private constructor(node: HttpNode, sql: pg.Client, from: number, dispose: () => Promise<void>) {
    this.#node = node
    this.#sql = sql
    this.#from = from
    this.#dispose = dispose
  }

  static async run(): Promise<TamperedInstallation> {
    const from = Math.floor(Date.now() / 60_000) * 60_000
    const node = await httpNode()
    const ended = Promise.withResolvers<void>()
    const handler = (name: string, code: () => unknown, pool = 'default') =>
      implementHandler(defineHandler({ name, pool }), async () => (await code()) ?? null)
    const worker = createWorker({
      urls: node.url,
      handlers: [
        handler('work', () => 1),
        handler('fail', () => {
          throw new Error('no')
        }),
        handler('stay', () => ended.promise),
      ],
      logger: silentLogger,
      drainSec: 1,
    })
    await worker.start()
    const sql = new pg.Client({ connectionString: node.databaseUrl, types: parsers })
    await sql.connect()
    const installation = new TamperedInstallation(node, sql, from, async () => {
      ended.resolve()
      await sql.end()
      await worker.stop()
      await node[Symbol.asyncDispose]()
    })
    await installation.#live()
    return installation
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#dispose()
  }

  idOf(kind: Kind): string {
    return this.#chosen.get(kind)!
  }

  /** Does something to the tables, looks what verify makes of it, and takes it back. */
  async tamper(statements: readonly { text: string; values?: unknown[] }[]): Promise<Tampered> {
    await this.#sql.query('begin')
    try {
      for (const { text, values } of statements) await this.#sql.query(text, values)
      return await this.verify()
    } finally {
      await this.#sql.query('rollback')
    }
  }

  /** Sees what the transaction sees. The time is given: a server that has just started would be left in peace otherwise. */
  async verify(): Promise<Tampered> {
    const now = Date.now()
    const query = async (_: string | null, text: string, values: unknown[] = []) =>
      (await this.#sql.query(text, values)).rows
    const database = { now: new Date(now), query } as unknown as Database
    const { counts, lost, ...found } = await verifyInstallation(database, {
      from: this.#from,
      to: now,
      now,
      lostMs: 30_000,
    })
    const findings = [...found.missed, ...found.doubled, ...found.stuck, ...found.wrong]
    const lostHere = lost.submissions + lost.commits.length
    return { counts, lost: lostHere, whys: [...findings.map(({ why }) => why), ...(lostHere > 0 ? ['LOST'] : [])] }
  }

  async query<Row>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.#sql.query(text, values)).rows
  }

  async #create(input: object): Promise<string> {
    const { status, body } = await this.#node.ask('POST /v1/jobs', input)
    if (status !== 201) throw new Error(JSON.stringify(body))
    return body.jobId
  }

  async #live(): Promise<void> {
    const everySecond = { type: 'CRON', schedule: '* * * * * *' }
    const endAt = new Date(Date.now() + 8_000).toISOString()
    const to = (handler: string, pool?: string) => ({ target: { handler, ...(pool && { pool }) } })
    await this.#node.ask('POST /v1/pools', { name: 'nobody' })
    await this.#create({ name: 'plain', ...everySecond, endAt, ...to('work') })
    await this.#create({ name: 'failing', ...everySecond, endAt, ...to('fail'), retryPolicy })
    await this.#create({ name: 'forbid', ...everySecond, endAt, overlap: 'FORBID', ...to('stay') })
    await this.#create({ name: 'queue', ...everySecond, endAt, overlap: 'QUEUE_ONE', ...to('stay') })
    await this.#create({ name: 'expires', ...everySecond, endAt, startWithinSec: 1, ...to('work', 'nobody') })
    await this.#create({ name: 'backlog', ...everySecond, endAt, ...to('work', 'nobody') })
    const paused = await this.#create({ name: 'paused', ...everySecond, endAt, ...to('work') })
    await this.#node.ask(`POST /v1/jobs/${paused}/pause`)
    const triggered = await this.#create({ name: 'triggered', type: 'CRON', schedule: '0 0 1 1 *', ...to('work') })
    await this.#node.ask(`POST /v1/jobs/${triggered}/trigger`)
    await this.#create({ name: 'once', type: 'DELAYED', delayMs: 500, ...to('work') })
    for (let i = 0; i < 20; i++) await this.#create({ name: 'now', type: 'ONE_SHOT', ...to('work') })
    await this.#create({
      name: 'later',
      type: 'ONE_SHOT',
      ...to('fail'),
      retryPolicy: { ...retryPolicy, initialDelayMs: 3_600_000 },
    })
    const cancelled = await this.#create({ name: 'cancelled', type: 'ONE_SHOT', ...to('work', 'nobody') })
    await this.#node.ask(`POST /v1/executions/${cancelled}/cancel`)
    await until(() => Date.now() > Date.parse(endAt) - 4_000)
    await this.#node.ask(`POST /v1/jobs/${paused}/resume`)
    await until(async () => {
      const [row] = await this.query<{ still: boolean; counted: boolean }>(`
        select exists (select from carillon.jobs where state = 'ACTIVE' and cron = '* * * * * *') still,
          (select sum(count) from carillon.receipts)
            = (select count(*) from carillon.executions where origin = 'SUBMIT') counted`)
      return !row!.still && row!.counted
    }, 60_000)
    for (const kind of Object.keys(kinds) as Kind[]) await until(() => this.#choose(kind), 30_000)
  }

  async #choose(kind: Kind): Promise<boolean> {
    // The first of a kind may be one that others lean on.
    const rows = await this.query<{ id: string }>(
      `select execution_id id from carillon.executions e where ${kinds[kind]} order by execution_id desc limit 1`,
    )
    if (rows[0]) this.#chosen.set(kind, rows[0].id)
    return rows.length > 0
  }
}
