/** How the hot window is filled from the database: nothing is read over and over, and nothing that came late is missed. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { Wheel } from '../../packages/server/src/hot-window/wheel.ts'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import { WindowReader } from '../../packages/server/src/scheduling/reader.ts'
import { Isolation } from '../../packages/server/src/store/quarantine/isolation.ts'
import { openStore, type TestStore } from '../support/store.ts'

let store: TestStore
let wheel: Wheel
let reader: WindowReader
let now: number

beforeAll(async () => {
  store = await openStore()
})
afterAll(() => store[Symbol.asyncDispose]())

beforeEach(async () => {
  await store.database.query(null, 'delete from carillon.schedules')
  now = Math.floor(Date.now() / 1_000) * 1_000
  wheel = new Wheel()
  const isolation = new Isolation({ database: store.database, logger: createLogger('silent') })
  const clock = { now: () => now }
  reader = new WindowReader({ database: store.database, window: wheel, clock, windowMs: 5_000, isolation })
})

const read = () => reader.runOnce(store.led.map(({ shard }) => shard))
const takeAll = () => wheel.take(now, 100_000).map(({ key }) => key)

it('who is behind does not look back, and makes up for it when it is not, however long that took', async () => {
  for (const nominal of [now - 2, now - 1]) await store.job({ nominal })
  await read()
  expect(wheel.take(now, 1)).toHaveLength(1)
  const late = await store.job({ nominal: now - 1_000 })
  await read()
  expect(wheel.size).toBe(1)
  now += 20_000
  await read()
  expect(wheel.size).toBe(1)
  expect(takeAll()).not.toContain(late)
  await read()
  expect(takeAll()).toContain(late)
})

it('what was given up is read again, though it was due long ago', async () => {
  const job = await store.job({ nominal: now - 30_000 })
  await read()
  expect(takeAll()).toEqual([job])
  await read()
  expect(takeAll()).toEqual([])
  reader.lookBackTo(now - 30_000)
  await read()
  expect(takeAll()).toEqual([job])
})

it('more that are due in one millisecond than fit a page are all read', async () => {
  await store.database.query(
    null,
    `with j as (
       insert into carillon.jobs (job_id, version, tenant, name, type, run_at, pool, lane, handler)
       select gen_random_uuid(), 1, 'acme', 'once', 'ONE_SHOT', carillon.at($1), 'default', 2, 'h' from generate_series(1, 12000)
       returning job_id)
     insert into carillon.schedules (job_id, shard, version, nominal, due) select job_id, 0, 1, carillon.at($1), carillon.at($1) from j`,
    [now + 1_000],
  )
  const after = await store.job({ nominal: now + 1_001 })
  await read()
  now += 2_000
  const taken = takeAll()
  expect(taken).toHaveLength(12_001)
  expect(taken).toContain(after)
})
