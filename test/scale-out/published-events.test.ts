/**
 * Events, dead letters and the audit in topics of a real Kafka: every one at least once, in order per job, whatever dies meanwhile. What was
 * committed is known from a copy that a trigger makes.
 */
import { type Carillon, type CarillonOptions, defineHandler } from '@carillon/server'
import pg from 'pg'
import { afterAll, expect, it } from 'vitest'
import { startKafka } from '../../scripts/servers/kafka.ts'
import { quickTimes, testCarillon } from '../support/carillon.ts'
import { fitsTopic } from '../support/contract-check.ts'
import { deleteTopic, readTopics, type TopicRecord } from '../support/kafka.ts'
import { openNodes } from '../support/nodes.ts'
import { describeWith } from '../support/servers.ts'
import { until } from '../support/until.ts'

const greet = defineHandler<{ n: number }>({ name: 'greet' })
const fail = defineHandler<{ n: number }>({ name: 'fail' })

const copyEvents = `
  create schema copy;
  create table copy.told as select event_id from carillon.events with no data;
  create function copy.tell() returns trigger language plpgsql as $$
  begin insert into copy.told select event_id from added; return null; end $$;
  create trigger tell after insert on carillon.events referencing new table as added for each statement execute function copy.tell()`

function prepare(carillon: Carillon): void {
  carillon.handle(greet, { concurrency: 20 }, async () => 'done')
  carillon.handle(fail, async () => {
    throw new TypeError('no')
  })
}

async function run(carillon: Carillon, count: number): Promise<void> {
  const handles = await Promise.all(Array.from({ length: count }, (_, n) => carillon.enqueue(greet, { n })))
  await Promise.all(handles.map((handle) => handle.result()))
}

/** A node that publishes, and SQL beside it. */
async function publishing(publishEvents: string, options: Partial<CarillonOptions> = {}) {
  const installation = await testCarillon(prepare, { ...quickTimes, publishEvents, ...options })
  const sql = new pg.Client(installation.databaseUrl)
  await sql.connect()
  await sql.query(copyEvents)
  return {
    ...installation,
    sql,
    told: () => toldIn(sql),
    async [Symbol.asyncDispose]() {
      await sql.end()
      await installation[Symbol.asyncDispose]()
    },
  }
}

async function toldIn(sql: pg.Client): Promise<number[]> {
  const { rows } = await sql.query('select event_id::int id from copy.told order by event_id')
  return rows.map(({ id }) => id)
}

/** What came first of each event is in order, per key and per partition. */
function expectOrder(records: TopicRecord[]): void {
  const seen = new Set<number>()
  const last = new Map<number, number>()
  for (const { partition, value } of records) {
    if (value.type === 'gap') continue
    if (seen.has(value.eventId)) continue
    seen.add(value.eventId)
    expect(value.eventId).toBeGreaterThan(last.get(partition) ?? 0)
    last.set(partition, value.eventId)
  }
  for (const [key, ofKey] of Map.groupBy(records, ({ key }) => key)) {
    if (key !== 'gap') expect(new Set(ofKey.map(({ partition }) => partition)).size).toBe(1)
  }
}

await describeWith('Kafka', startKafka, (kafka) => {
  afterAll(() => kafka.stop())
  let number = 0
  const place = () => `${kafka.url}/test-${++number}`
  const topicOf = (url: string, name: string) => `${url.split('/').at(-1)}.${name}`

  /** Waits until all of them are in the topic, and so many markers of gaps: what is in other partitions may come before those. */
  async function published(url: string, ids: number[], gaps = 0): Promise<TopicRecord[]> {
    const missing = new Set(ids)
    const records = await readTopics(kafka, [topicOf(url, 'events')], (all) => {
      missing.delete(all.at(-1)!.value.eventId)
      return missing.size === 0 && all.filter(({ value }) => value.type === 'gap').length >= gaps
    })
    expectOrder(records)
    return records
  }

  it('every event as it is streamed, dead letters, the whole audit', { timeout: 120_000 }, async () => {
    const url = place()
    await using installation = await publishing(url)
    const { carillon, sql, told } = installation
    await run(carillon, 50)
    const job = await carillon.schedule(greet, { n: 1 }, { cron: '0 0 1 1 *', key: 'yearly' })
    const dead = await carillon.enqueue(fail, { n: 1 }, { retryPolicy: { maxAttempts: 2, initialDelayMs: 1 } })
    await dead.result().catch(() => {})
    const ids = await told()
    const records = await published(url, ids)
    for (const { value } of records) fitsTopic('events', value)
    // Nothing was disturbed: nothing came twice.
    expect(records.length).toBe(ids.length)
    const created = records.find(({ value }) => value.type === 'job.created')!
    expect(created).toMatchObject({
      key: job.jobId,
      headers: { type: 'job.created', tenant: 'default', eventId: String(created.value.eventId), schemaVersion: '1' },
      value: { tenant: 'default', jobId: job.jobId, detail: { key: 'yearly' } },
    })
    const [letter] = await readTopics(kafka, [topicOf(url, 'dead-letters')], (all) => all.length > 0)
    expect(letter).toMatchObject({
      headers: { type: 'execution.dead', tenant: 'default' },
      value: {
        ...{ executionId: dead.executionId, handler: 'fail', pool: 'default', origin: 'SUBMIT', attempts: 2 },
        ...{ outcome: 'FAILED', error: { name: 'TypeError', message: 'no' } },
      },
    })
    fitsTopic('dead-letters', letter!.value)
    const { rows } = await sql.query(
      `select audit_id::int "auditId", to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') at, tenant, actor,
         action, subject, detail from carillon.audit order by audit_id`,
    )
    const lastId = rows.at(-1)!.auditId
    const entries = await readTopics(kafka, [topicOf(url, 'audit')], (all) => all.at(-1)?.value.auditId === lastId)
    expect(entries.map(({ value }) => value)).toEqual(rows)
    for (const { value } of entries) fitsTopic('audit', value)
    expect(rows.map(({ action }) => action)).toContain('job.created')
  })

  it('goes on where it stopped, with what happened meanwhile', { timeout: 120_000 }, async () => {
    const url = place()
    await using installation = await publishing(url)
    const { carillon, told, another } = installation
    await run(carillon, 10)
    await published(url, await told())
    const quiet = await another({ publishEvents: undefined })
    prepare(quiet)
    await quiet.start()
    await carillon.stop()
    await run(quiet, 10)
    const again = await another()
    prepare(again)
    await again.start()
    await quiet.stop()
    const ids = await told()
    expect((await published(url, ids)).length).toBe(ids.length)
  })

  it('the node that publishes is killed in the middle', { timeout: 120_000 }, async () => {
    const url = place()
    // Sets up the database, and leaves it to the two.
    await using installation = await publishing(url)
    const { carillon, databaseUrl, sql, told } = installation
    await using nodes = await openNodes(databaseUrl)
    const two = {
      first: await nodes.launch('first', { ...quickTimes, publishEvents: url }),
      second: await nodes.launch('second', { ...quickTimes, publishEvents: url }),
    }
    await carillon.stop()
    const count = 4_000
    const enqueue = `select carillon.enqueue('spend', '{"ms": 1}') from generate_series(1, $1)`
    await sql.query(enqueue, [count / 2])
    const figures = async () => {
      const { rows } = await sql.query(
        `select s.served_by "servedBy", s.position - s.created position, (select count(*)::int from carillon.executions where state = 'SUCCEEDED') ended
         from (select *, (select min(event_id) from copy.told) created from carillon.subscriptions where source = 'EVENTS') s`,
      )
      return rows[0] as { servedBy: 'first' | 'second'; position: string; ended: number }
    }
    await until(async () => {
      const { servedBy, position } = await figures()
      return servedBy in two && Number(position) > 500
    }, 60_000)
    await two[(await figures()).servedBy].end('SIGKILL')
    await sql.query(enqueue, [count / 2])
    await until(async () => (await figures()).ended === count, 90_000)
    const ids = await told()
    expect(ids.length).toBeGreaterThanOrEqual(3 * count)
    await published(url, ids)
  })

  it('Kafka is killed for ten seconds', { timeout: 120_000 }, async () => {
    const url = place()
    await using installation = await publishing(url)
    const { carillon, told } = installation
    await run(carillon, 200)
    await kafka.kill()
    const until10s = performance.now() + 10_000
    while (performance.now() < until10s) await run(carillon, 50)
    await kafka.restart()
    await run(carillon, 200)
    await published(url, await told())
  })

  it('a topic is deleted under load', { timeout: 120_000 }, async () => {
    const url = place()
    await using installation = await publishing(url)
    const { carillon, told, sql } = installation
    const position = async () => {
      const { rows } = await sql.query(`select position::int p from carillon.subscriptions where source = 'EVENTS'`)
      return rows[0].p as number
    }
    await run(carillon, 200)
    let over = false
    const load = (async () => {
      while (!over) await run(carillon, 50)
    })()
    await deleteTopic(kafka, topicOf(url, 'events'))
    const before = await position()
    await until(async () => (await position()) > before + 1_000, 60_000)
    over = true
    await load
    // What was acknowledged went with the topic; everything else is in the new one.
    const ids = await told()
    await published(
      url,
      ids.filter((id) => id > before),
    )
  })

  it('what was dropped is told to every partition', { timeout: 120_000 }, async () => {
    const url = place()
    await using installation = await publishing(url)
    const { carillon, sql, told } = installation
    await run(carillon, 5)
    await published(url, await told())
    await kafka.kill()
    await run(carillon, 20)
    await sql.query(`select carillon.prune_events(5000, interval '15 minutes', interval '1 day', 10, null)`)
    const { rows } = await sql.query(
      `select gap_after::int "after", gap_up_to::int "upTo", dropped::int dropped, gaps::int gaps
       from carillon.subscriptions where source = 'EVENTS'`,
    )
    const { after, upTo, dropped, gaps } = rows[0]
    expect(dropped).toBeGreaterThan(40)
    expect(gaps).toBe(1)
    await kafka.restart()
    const ids = (await told()).filter((id) => id > upTo)
    const records = await published(url, ids, 4)
    const markers = records.filter(({ value }) => value.type === 'gap')
    expect(markers.map(({ value }) => value)).toEqual(Array.from({ length: 4 }, () => ({ type: 'gap', after, upTo })))
    for (const { value } of markers) fitsTopic('events', value)
    expect(new Set(markers.map(({ partition }) => partition)).size).toBe(4)
  })
})
