/** carillon.enqueue with a dedupe key: decided after the commit, by the same rules as over HTTP. */
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { until } from '../../support/until.ts'
import { openStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage[Symbol.asyncDispose]())

async function enqueue(payload: unknown, dedupe: object, options: { inMs?: number; client?: pg.Client } = {}) {
  const { rows } = await (options.client ?? stage.admin).query<{ id: string }>(
    `select carillon.enqueue('note', $1::json, dedupe => $2, run_at => clock_timestamp() + $3 * interval '1 ms') id`,
    [JSON.stringify(payload), JSON.stringify(dedupe), options.inMs ?? 0],
  )
  return rows[0]!.id
}

/** What came of it, once that is decided. */
async function settled(id: string): Promise<{ verdict: string; execution_id: string | null; error: string | null }> {
  const look = async () => (await stage.admin.query('select * from carillon.enqueued($1)', [id])).rows[0]
  await until(async () => (await look()) !== undefined)
  return look()
}

const hourMs = 3_600_000

it('of two under one key the first stands, and the caller of the second can find it', async () => {
  const first = await enqueue(1, { key: 'keep' }, { inMs: hourMs })
  const second = await enqueue(2, { key: 'keep' }, { inMs: hourMs })
  expect(await settled(first)).toEqual({ verdict: 'NEW', execution_id: first, error: null })
  expect(await settled(second)).toEqual({ verdict: 'KEPT', execution_id: first, error: null })
})

it('a newer one replaces what has not started', async () => {
  const first = await enqueue('old', { key: 'replace', onDuplicate: 'REPLACE' }, { inMs: hourMs })
  await settled(first)
  const second = await enqueue('new', { key: 'replace', onDuplicate: 'REPLACE' })
  expect(await settled(second)).toMatchObject({ verdict: 'REPLACED', execution_id: second })
  await until(() => stage.noted.has(second))
  expect([stage.noted.get(first), stage.noted.get(second)]).toEqual([undefined, ['new']])
})

it('a burst is put off, but not beyond maxWaitSec', async () => {
  const dedupe = { key: 'burst', onDuplicate: 'DEBOUNCE', maxWaitSec: 600 }
  const ids: string[] = []
  for (const n of [1, 2, 3]) {
    ids.push(await enqueue(n, dedupe, { inMs: hourMs }))
    await settled(ids.at(-1)!)
  }
  const { verdict, execution_id: standing } = await settled(ids[2]!)
  expect([verdict, ids.includes(standing!)]).toEqual(['DEBOUNCED', false])
  const { rows } = await stage.admin.query(
    `select s.due - d.first_at = interval '600 s' capped from carillon.schedules s
     join carillon.dedupes d on d.execution_id = s.job_id where d.key = 'burst' and s.job_id = $1`,
    [standing],
  )
  expect(rows).toEqual([{ capped: true }])
})

it('windowSec makes it a duplicate after the end', async () => {
  const first = await enqueue(1, { key: 'window', windowSec: 600 })
  await until(() => stage.noted.has(first))
  await until(async () => (await stage.carillon.execution(first))?.state === 'SUCCEEDED')
  expect(await settled(await enqueue(2, { key: 'window' }))).toMatchObject({ verdict: 'KEPT', execution_id: first })
})

it('shares its keys with the other ways in', async () => {
  const standing = await enqueue(1, { key: 'shared' }, { inMs: hourMs })
  await settled(standing)
  const input = { type: 'ONE_SHOT', target: { pool: 'default', handler: 'note' }, dedupe: { key: 'shared' } } as const
  expect(await stage.carillon.createJob(input)).toMatchObject({ jobId: standing })
})

it('what is rolled back never was, and an open transaction holds up nobody else with the same key', async () => {
  const client = new pg.Client(stage.node.databaseUrl)
  await client.connect()
  try {
    await client.query('begin')
    const inside = await enqueue('inside', { key: 'open' }, { client, inMs: hourMs })
    const outside = await enqueue('outside', { key: 'open' }, { inMs: hourMs })
    expect(await settled(outside)).toMatchObject({ verdict: 'NEW', execution_id: outside })
    await client.query('commit')
    expect(await settled(inside)).toMatchObject({ verdict: 'KEPT', execution_id: outside })
    await client.query('begin')
    await enqueue('never', { key: 'rolled back' }, { client, inMs: hourMs })
    await client.query('rollback')
    const next = await enqueue('next', { key: 'rolled back' }, { inMs: hourMs })
    expect(await settled(next)).toMatchObject({ verdict: 'NEW' })
  } finally {
    await client.end()
  }
})

it('of many at once exactly one stands, however many nodes settle', async () => {
  await stage.node.another({ pollMs: 20 }).then((node) => node.start())
  const ids = await Promise.all(Array.from({ length: 40 }, (_, n) => enqueue(n, { key: 'many' }, { inMs: hourMs })))
  const verdicts = await Promise.all(ids.map(settled))
  expect(verdicts.filter(({ verdict }) => verdict === 'NEW')).toHaveLength(1)
  expect(new Set(verdicts.map(({ execution_id }) => execution_id)).size).toBe(1)
})

it('a row that cannot be carried out is refused with its error, and the others go on', async () => {
  const bad = await enqueue(1, { key: 'bad' }, { inMs: hourMs })
  await stage.admin.query(`insert into carillon.dedupe_requests (request_id, tenant, pool, lane, handler, run_at, dedupe)
    values (gen_random_uuid(), 'acme', 'nowhere', 1, 'x', now(), '{"key": "a"}'),
      (gen_random_uuid(), 'acme', 'default', 1, '', '1066-10-14', '{"key": 1, "while": []}')`)
  const good = await enqueue(1, { key: 'good' }, { inMs: hourMs })
  expect([await settled(bad), await settled(good)]).toMatchObject([{ verdict: 'NEW' }, { verdict: 'NEW' }])
  const { rows } = await stage.admin.query(
    `select count(*)::int n from carillon.dedupe_requests where verdict = 'REFUSED' and error <> ''`,
  )
  expect(rows).toEqual([{ n: 2 }])
})
