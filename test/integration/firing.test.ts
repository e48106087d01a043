/** How a leader fires what is due: in batches, several at once when there is enough, and none is lost with a failure. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { PostgresDueSource } from '../../packages/server/src/due-source/postgres.ts'
import type { Leadership } from '../../packages/server/src/leadership/port.ts'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import { Scheduler } from '../../packages/server/src/scheduling/scheduler.ts'
import { Isolation } from '../../packages/server/src/store/quarantine/isolation.ts'
import { deaf, openStore, type TestStore } from '../support/store.ts'

const batchSize = 500
let store: TestStore
/** Called for each batch, before it is fired. */
let beforeBatch: () => Promise<void>
let scheduler: Scheduler

beforeAll(async () => {
  store = await openStore()
})
afterAll(() => store[Symbol.asyncDispose]())

beforeEach(async () => {
  await store.database.query(null, 'delete from carillon.ready')
  beforeBatch = async () => {}
  const leadership: Leadership = {
    shards: () => store.led,
    alone: () => true,
    onChange: () => () => {},
    onFreed: () => () => {},
    wake() {},
    async start() {},
    async stop() {},
  }
  const { database } = store
  const clock = { now: () => Date.now() }
  const isolation = new Isolation({ database, logger: createLogger('silent') })
  const source = new PostgresDueSource({ database, clock, isolation })
  scheduler = new Scheduler({
    ...{ database, isolation, leadership, source, signals: deaf, clock },
    ...{ pollMs: 1_000, windowMs: 5_000, logger: createLogger('silent') },
    tag: async (flows) => {
      await beforeBatch()
      return flows.map(() => store.tag())
    },
  })
})

/** So many jobs that run once, and are due. */
async function due(count: number): Promise<void> {
  await store.database.query(
    null,
    `with j as (
       insert into carillon.jobs (job_id, version, tenant, name, type, run_at, pool, lane, handler)
       select gen_random_uuid(), 1, 'acme', 'once', 'ONE_SHOT', carillon.at($2), 'default', 2, 'h' from generate_series(1, $1::int)
       returning job_id)
     insert into carillon.schedules (job_id, shard, version, nominal, due) select job_id, 0, 1, carillon.at($2), carillon.at($2) from j`,
    [count, Date.now() - 1_000],
  )
}

async function left(): Promise<{ jobs: number; schedules: number; ready: number }> {
  const [row] = await store.database.query<{ jobs: number; schedules: number; ready: number }>(
    null,
    `select (select count(*) from carillon.jobs) jobs, (select count(*) from carillon.schedules) schedules,
       (select count(*) from carillon.ready) ready`,
  )
  return row!
}

describe('a leader', () => {
  it('fires several batches at once when more is due than one takes', async () => {
    await due(2 * batchSize + 100)
    const all = Promise.withResolvers<void>()
    let batches = 0
    beforeBatch = async () => {
      if (++batches === 3) all.resolve()
      await all.promise
    }
    await scheduler.runOnce()
    expect(batches).toBe(3)
    expect(await left()).toEqual({ jobs: 0, schedules: 0, ready: 2 * batchSize + 100 })
  })

  it('fires one batch when that is all', async () => {
    await due(10)
    let batches = 0
    beforeBatch = async () => {
      batches++
    }
    await scheduler.runOnce()
    expect(batches).toBe(1)
    expect(await left()).toEqual({ jobs: 0, schedules: 0, ready: 10 })
  })

  it('puts a batch that failed back, fires the other one, and fails', async () => {
    await due(2 * batchSize)
    let batches = 0
    beforeBatch = async () => {
      if (++batches === 1) throw new Error('no answer')
    }
    await expect(scheduler.runOnce()).rejects.toThrow('no answer')
    expect((await left()).ready).toBe(2 * batchSize)
  })
})
