/** Subscriptions: every change of every tenant is delivered at least once and in order; what is dropped before leaves a gap. */
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Deliverer, type Subscriber } from '../../../packages/server/src/events/deliverer.ts'
import { auditSource, eventSource } from '../../../packages/server/src/events/subscription-source.ts'
import type { Leadership, LedShard } from '../../../packages/server/src/leadership/port.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import type { AuditRecord } from '../../../packages/server/src/store/audit/list.ts'
import type { EventRow } from '../../../packages/server/src/store/events/read.ts'
import {
  type Gap,
  readSubscriptions,
  type Source,
  unsubscribe,
} from '../../../packages/server/src/store/events/subscriptions.ts'
import { Isolation } from '../../../packages/server/src/store/quarantine/isolation.ts'
import { EventPruner } from '../../../packages/server/src/upkeep/event-pruner.ts'
import { openStore, type TestStore } from '../../support/store.ts'
import { until } from '../../support/until.ts'

const logger = createLogger('silent')
const hourMs = 3_600_000
const name = 'test'
let store: TestStore
let sql: pg.Pool

beforeAll(async () => {
  store = await openStore()
  sql = new pg.Pool({ connectionString: store.url, max: 4 })
})
afterEach(async () => {
  await unsubscribe(store.database, name, 'test')
  await sql.query('delete from carillon.events; delete from carillon.event_listeners')
})
afterAll(async () => {
  await sql?.end()
  await store?.[Symbol.asyncDispose]()
})

class Recorder<Row> implements Subscriber<Row> {
  readonly rows: Row[] = []
  readonly gaps: Gap[] = []
  away = false
  tries = 0

  async deliver(rows: Row[]): Promise<void> {
    this.tries++
    if (this.away) throw new Error('away')
    this.rows.push(...rows)
  }

  async deliverGap(gap: Gap): Promise<void> {
    if (this.away) throw new Error('away')
    this.gaps.push(gap)
  }

  release(): void {}
}

/** Leads shard 0, until it is told otherwise. */
function leading() {
  let shards: LedShard[] = [{ shard: 0, epoch: 1 } as LedShard]
  const leadership: Leadership = {
    ...{ start: async () => {}, stop: async () => {}, alone: () => true, wake: () => {} },
    ...{ shards: () => shards, onChange: () => () => {}, onFreed: () => () => {} },
  }
  return {
    leadership,
    lead: (leads: boolean) => {
      shards = leads ? [{ shard: 0, epoch: 1 } as LedShard] : []
    },
  }
}

async function serving<Row>(of: 'EVENTS' | 'AUDIT', types: string[] | null = null) {
  const { database } = store
  const subscriber = new Recorder<Row>()
  const source = of === 'EVENTS' ? eventSource(database, new Isolation({ database, logger })) : auditSource(database)
  const { leadership, lead } = leading()
  const deliverer = new Deliverer<Row>({
    ...{ name, types, subscriber, database, leadership, nodeName: 'here', logger, onAway: () => {} },
    source: source as never,
  })
  await deliverer.start()
  return { subscriber, lead, deliverer, [Symbol.asyncDispose]: () => deliverer.stop() }
}

async function write(by: pg.Pool | pg.PoolClient = sql, tenant = 'a', type = 'job.updated'): Promise<number> {
  const { rows } = await by.query(
    `insert into carillon.events (at, tenant, type, job_id, detail)
     values (clock_timestamp(), $1, $2, gen_random_uuid(), '{}') returning event_id::int id`,
    [tenant, type],
  )
  return rows[0].id
}

async function audited(by: pg.Pool | pg.PoolClient = sql): Promise<number> {
  const { rows } = await by.query(
    `insert into carillon.audit (actor, action) values ('test', 'test.done') returning audit_id::int id`,
  )
  return rows[0].id
}

async function standing(source: Source = 'EVENTS') {
  return (await readSubscriptions(store.database)).find((each) => each.source === source)!
}

async function events(): Promise<number> {
  const { rows } = await sql.query('select count(*)::int n from carillon.events')
  return rows[0].n
}

/** Ages everything that is there. */
function age(ms: number) {
  return sql.query(`update carillon.events set at = at - $1 * interval '1 millisecond'`, [ms])
}

describe('while a subscription exists', () => {
  it('every change of every tenant is told, and nothing after it has ended', async () => {
    await store.submit(1)
    expect(await events()).toBe(0)
    const home = await serving<EventRow>('EVENTS')
    const [id] = await store.submit(1)
    await until(() => home.subscriber.rows.length === 1)
    expect(home.subscriber.rows[0]).toMatchObject({ type: 'execution.fired', executionId: id })
    await home.deliverer.stop()
    await store.submit(1)
    expect(await events()).toBe(2)
    expect(await unsubscribe(store.database, name, 'test')).toBe(true)
    await store.submit(1)
    expect(await events()).toBe(2)
    expect(await unsubscribe(store.database, name, 'test')).toBe(false)
  })

  it('events come in the order of their ids, whatever order they are committed in', async () => {
    await using home = await serving<EventRow>('EVENTS')
    const slow = await sql.connect()
    await slow.query('begin')
    const first = await write(slow, 'b')
    const second = await write()
    await until(async () => (await standing()).lag > 0)
    expect(home.subscriber.rows).toEqual([])
    await slow.query('commit')
    slow.release()
    await until(() => home.subscriber.rows.length === 2)
    expect(home.subscriber.rows.map(({ eventId }) => eventId)).toEqual([first, second])
    await until(async () => (await standing()).position === second)
    expect(await standing()).toMatchObject({ lag: 0, lagMs: 0, servedBy: 'here' })
  })

  it('only types that it wants are delivered, and the position passes the others', async () => {
    await using home = await serving<EventRow>('EVENTS', ['execution.dead'])
    await write()
    const wanted = await write(sql, 'a', 'execution.dead')
    const last = await write()
    await until(async () => (await standing()).position === last)
    expect(home.subscriber.rows.map(({ eventId }) => eventId)).toEqual([wanted])
  })

  it('what a subscriber refuses is delivered later, and another node goes on from there', async () => {
    const first = await serving<EventRow>('EVENTS')
    await write()
    await until(() => first.subscriber.rows.length === 1)
    first.subscriber.away = true
    const missed = await write()
    await until(() => first.subscriber.tries > 2)
    first.lead(false)
    await using second = await serving<EventRow>('EVENTS')
    await until(() => second.subscriber.rows.length === 1)
    expect(second.subscriber.rows[0]!.eventId).toBe(missed)
    await first.deliverer.stop()
    expect(first.subscriber.rows.length).toBe(1)
  })

  it('a database that has gone back is followed', async () => {
    await using home = await serving<EventRow>('EVENTS')
    const id = await write()
    await until(async () => (await standing()).position === id)
    await sql.query('update carillon.subscriptions set position = $1', [id - 1])
    await until(() => home.subscriber.rows.length === 2)
    expect(home.subscriber.rows.map(({ eventId }) => eventId)).toEqual([id, id])
  })

  it('the audit comes whole and in order, from its first entry', async () => {
    const before = await audited()
    const slow = await sql.connect()
    await slow.query('begin')
    const held = await audited(slow)
    await using home = await serving<AuditRecord>('AUDIT')
    const quick = await audited()
    await until(() => home.subscriber.rows.some(({ auditId }) => auditId === before))
    expect(home.subscriber.rows.every(({ auditId }) => auditId < held)).toBe(true)
    await slow.query('commit')
    slow.release()
    await until(() => home.subscriber.rows.at(-1)?.auditId === quick)
    const { rows } = await sql.query('select audit_id::int id from carillon.audit order by audit_id')
    expect(home.subscriber.rows.map(({ auditId }) => auditId)).toEqual(rows.map(({ id }) => id))
  })
})

describe('the pruner', () => {
  const prune = (bounds = {}) => new EventPruner({ database: store.database, logger, ...bounds }).runOnce()

  it('removes what is delivered at once, unless others listen', async () => {
    await using home = await serving<EventRow>('EVENTS')
    const id = await write()
    await until(async () => (await standing()).position === id)
    await sql.query(`insert into carillon.event_listeners (tenant, until) values ('a', now() + interval '1 hour')`)
    await prune()
    expect(await events()).toBe(1)
    await sql.query(`delete from carillon.event_listeners where tenant = 'a'`)
    await prune()
    expect(await events()).toBe(0)
    expect(home.subscriber.gaps).toEqual([])
  })

  it('keeps what is not delivered, within bounds; beyond them there is one gap, which is told', async () => {
    await using home = await serving<EventRow>('EVENTS')
    home.subscriber.away = true
    const { position: before } = await standing()
    for (let n = 0; n < 10; n++) await write()
    await age(hourMs)
    await prune()
    expect(await events()).toBe(10)
    await prune({ undeliveredMost: 6 })
    await prune({ undeliveredMost: 4 })
    const { gap, dropped, gaps } = await standing()
    expect({ dropped, gaps, left: await events() }).toEqual({ dropped: 6, gaps: 1, left: 4 })
    expect(gap!.after).toBe(before)
    await prune({ undeliveredMs: hourMs / 2 })
    expect(await events()).toBe(0)
    const last = await write()
    home.subscriber.away = false
    await until(() => home.subscriber.rows.length > 0)
    // The row may be delivered before the gap is told, and the gap is closed after that.
    await until(async () => (await standing()).gap === null)
    expect(home.subscriber.gaps).toEqual([{ after: before, upTo: last - 1 }])
    expect(home.subscriber.rows.map(({ eventId }) => eventId)).toEqual([last])
    expect(await standing()).toMatchObject({ gap: null, dropped: 10, gaps: 1 })
  })

  it('removes old audit entries that were not delivered, and leaves a gap', async () => {
    await using home = await serving<AuditRecord>('AUDIT')
    const last = await audited()
    await until(() => home.subscriber.rows.at(-1)?.auditId === last)
    home.subscriber.away = true
    const { rows } = await sql.query(
      `insert into carillon.audit (at, actor, action) values (now() - interval '9 days', 'test', 'test.done')
       returning audit_id::int id`,
    )
    await sql.query('select carillon.set_audit_retention(7)')
    // Oldest first: those before it are younger here.
    await sql.query('select carillon.prune_audit(1000000)')
    await sql.query('select carillon.set_audit_retention(null)')
    home.subscriber.away = false
    await until(() => home.subscriber.gaps.length === 1)
    expect(home.subscriber.gaps[0]!.upTo).toBe(rows[0].id)
  })
})
