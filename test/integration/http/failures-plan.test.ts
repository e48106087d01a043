/** What grouping dead letters reads: their own endings, the ledger once for each group, and nothing of other tenants. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type GroupBounds, groupDeadLetters } from '../../../packages/server/src/store/executions/groups.ts'
import { firstId, lastId, type Selection } from '../../../packages/server/src/store/executions/select.ts'
import { openStore, type TestStore } from '../../support/store.ts'
import { Meter } from '../plans/meter.ts'

let store: TestStore
let meter: Meter

beforeAll(async () => {
  store = await openStore()
  await seed('many', 20_000)
  await seed('mine', 5_000)
  meter = await Meter.open(store.url)
})
afterAll(async () => {
  await meter?.database.end()
  await store?.[Symbol.asyncDispose]()
})

/** Of five errors; as many again have succeeded. */
async function seed(tenant: string, count: number): Promise<void> {
  await store.database.query(
    null,
    `insert into carillon.executions (execution_id, job_id, job_version, tenant, pool, lane, handler, tag, origin, scheduled_for, due_at,
       fired_at, state, reason, attempt, finished_at, error)
     select overlay(gen_random_uuid()::text placing left(carillon.first_id(carillon.ms(now()) - i)::text, 13) from 1 for 13)::uuid,
       md5((i % 100)::text)::uuid, 1, $1, 'default', 2, 'h' || i % 3, -1, 'SCHEDULE', now(), now(), now(),
       case when i % 2 = 0 then 'DEAD' else 'SUCCEEDED' end, case when i % 2 = 0 then 'ATTEMPTS_USED_UP' end, 3, now(),
       case when i % 2 = 0 then jsonb_build_object('name', 'Error' || i % 5, 'message', 'it is broken') end
     from generate_series(1, $2::int * 2) i`,
    [tenant, count],
  )
  await store.database.query(
    null,
    `select carillon.record_ends(array_agg(execution_id), array_agg(tenant), array_agg(state))
     from carillon.executions where tenant = $1 and state = 'DEAD'`,
    [tenant],
  )
}

const grouped = (tenant: string, bounds: Partial<GroupBounds> = {}, filter: Partial<Selection> = {}) =>
  meter.read((database) =>
    groupDeadLetters(
      database,
      {
        ...{ tenant, states: null, jobId: null, handler: null, pool: null, origin: null, error: null, labels: null },
        ...{ after: firstId, before: lastId, ...filter },
      },
      { by: 'ERROR', look: 10_000, most: 100, ...bounds },
    ),
  )

it.each(['before', 'after'])('%s the tables were analysed', async (when) => {
  if (when === 'after') await store.database.query(null, 'analyze carillon.endings, carillon.executions')
  const { buffers, result } = await grouped('mine')
  expect(result.complete).toBe(true)
  expect(result.groups.map(({ error, count }) => [error, count])).toEqual(
    expect.arrayContaining([0, 1, 2, 3, 4].map((i) => [`Error${i}`, 1_000])),
  )
  // A look into the ledger for each would be 15,000 at least.
  expect(buffers).toBeLessThan(8_000)
  expect((await grouped('nobody')).buffers).toBeLessThan(100)
})

it('no more than it may look at, and it says so', async () => {
  const { buffers, result } = await grouped('many', { look: 500 })
  expect(result.complete).toBe(false)
  expect(result.groups.reduce((sum, { count }) => sum + count, 0)).toBe(501)
  expect(buffers).toBeLessThan(1_000)
})

it('the same by what the endings say and by what the ledger says', async () => {
  const jobId = (await store.database.query<{ id: string }>(null, `select md5('4')::uuid id`))[0]!.id
  const filters: Partial<Selection>[] = [
    {},
    { handler: 'h1' },
    { error: 'Error2' },
    { jobId },
    { pool: 'nowhere' },
    { reason: 'NONE' },
  ]
  const answers = async () => {
    const all: unknown[] = []
    for (const by of ['ERROR', 'JOB'] as const) {
      for (const filter of filters) all.push((await grouped('mine', { by }, filter)).result)
    }
    return all
  }
  const told = await answers()
  // As dead letters from before the columns are.
  await store.database.query(
    null,
    `update carillon.endings set job_id = null, handler = null, pool = null, reason = null, error = null, attempts = null, ended_at = null
     where tenant = 'mine' and execution_id::text < (select max(execution_id::text) from carillon.endings where tenant = 'mine')`,
  )
  expect(await answers()).toEqual(told)
  expect((await grouped('mine', {}, { origin: 'SCHEDULE' })).result).toEqual(told[0])
})
