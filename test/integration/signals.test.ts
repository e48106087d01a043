/** What is particular to signals over LISTEN and NOTIFY; test/conformance/signals.ts has what all signals must do. */
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import { NotifySignals } from '../../packages/server/src/signals/notify.ts'
import type { Signal } from '../../packages/server/src/signals/port.ts'
import { Database } from '../../packages/server/src/store/database.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'

class Node {
  readonly heard: Signal[] = []
  readonly signals: NotifySignals
  readonly #database: Database

  constructor(url: string, nodeId: string) {
    this.#database = new Database({ url, maxConnections: 3, statementTimeoutMs: 10_000, applicationName: nodeId })
    this.signals = new NotifySignals({ database: this.#database, nodeId, logger: createLogger('silent') })
    this.signals.subscribe((signal) => this.heard.push(signal))
  }

  async stop(): Promise<void> {
    await this.signals.stop()
    await this.#database.end()
  }

  of<Kind extends Signal['kind']>(kind: Kind): Extract<Signal, { kind: Kind }>[] {
    return this.heard.filter((signal) => signal.kind === kind) as Extract<Signal, { kind: Kind }>[]
  }
}

let home: TestDatabase
let a: Node
let b: Node
/** Everybody's notifications, as PostgreSQL delivers them. */
let wire: pg.Client
let payloads: string[]

beforeAll(async () => {
  home = await createDatabase()
})
afterAll(() => home.drop())
beforeEach(async () => {
  payloads = []
  wire = new pg.Client(home.url)
  await wire.connect()
  wire.on('notification', ({ payload }) => payloads.push(payload!))
  await wire.query('listen carillon')
  a = new Node(home.url, 'node-a')
  b = new Node(home.url, 'node-b')
  await Promise.all([a.signals.start(), b.signals.start()])
})
afterEach(async () => {
  await Promise.all([a.stop(), b.stop(), wire.end()])
})

const ready = (pool: string, tag: number, lane = 0): Signal => ({ kind: 'READY', pool, lane, tag })
const cancel = (n: number): Signal => ({
  ...{ kind: 'CANCEL', workerId: 'w', executionId: `execution-${n}`, fence: n, reason: 'CANCELLED' },
})

/** Resolves when everything published before has been delivered: what a node sends goes out in order. */
async function delivered(from: Node, to: Node): Promise<void> {
  const marker = ready(`marker-${to.heard.length}-${from.heard.length}`, 1)
  from.signals.publish(marker)
  await until(() => to.of('READY').some((signal) => signal.pool === (marker as { pool: string }).pool))
}

describe('signals of one moment', () => {
  it('go out in one notification, merged', async () => {
    for (const tag of [5, 3, 9]) a.signals.publish(ready('p', tag))
    a.signals.publish(ready('p', 4, 1))
    a.signals.publish(ready('q', 8))
    for (const n of [1, 2, 3]) a.signals.publish(cancel(n))
    await until(() => b.of('CANCEL').length === 3)
    expect(b.of('READY')).toEqual([ready('p', 3), ready('p', 4, 1), ready('q', 8)])
    expect(payloads).toHaveLength(1)
  })

  it('in a great burst are split below what NOTIFY takes', async () => {
    for (let n = 0; n < 500; n++) a.signals.publish(ready(`${n}-${'漢'.repeat(180)}`, n))
    await until(() => b.heard.length >= 500)
    // Another connection listens for them: it may hear them a moment later.
    await until(() => payloads.length > 1)
    expect(Math.max(...payloads.map((payload) => Buffer.byteLength(payload)))).toBeLessThan(8_000)
  })
})

describe('the loss of the connection that listens', () => {
  it('is made good: signals arrive again', async () => {
    const listening = `select pid from pg_stat_activity where application_name = 'node-b' and query = 'listen carillon'`
    const { rows } = await wire.query<{ pid: number }>(listening)
    expect(rows).toHaveLength(1)
    await wire.query('select pg_terminate_backend($1)', [rows[0]!.pid])
    await until(async () => (await wire.query(`${listening} and pid <> $1`, [rows[0]!.pid])).rows.length === 1)
    a.signals.publish({ kind: 'DUE', at: 9 })
    await until(() => b.of('DUE').length === 1)
  })

  it('keeps nobody from publishing, and a stop meanwhile ends it', async () => {
    await wire.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'node-b'`)
    expect(() => b.signals.publish({ kind: 'SHARDS' })).not.toThrow()
    await b.signals.stop()
    const left = `select from pg_stat_activity where application_name = 'node-b' and query = 'listen carillon'`
    await until(async () => (await wire.query(left)).rows.length === 0)
  })
})

describe('a payload that is not ours', () => {
  it('is passed over', async () => {
    await wire.query(`notify carillon, 'not json'`)
    await wire.query(`notify carillon, '{"from":"x"}'`)
    await delivered(a, b)
  })
})
