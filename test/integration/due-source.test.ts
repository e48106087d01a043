/** How the due source reads PostgreSQL: nothing is read over and over, and nothing that came late is missed. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { DueEntry } from '../../packages/server/src/due-source/port.ts'
import { PostgresDueSource } from '../../packages/server/src/due-source/postgres.ts'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import { Isolation } from '../../packages/server/src/store/quarantine/isolation.ts'
import { openStore, type TestStore } from '../support/store.ts'

let store: TestStore
let source: PostgresDueSource
let now: number

beforeAll(async () => {
  store = await openStore()
})
afterAll(() => store[Symbol.asyncDispose]())

beforeEach(async () => {
  await store.database.query(null, 'delete from carillon.schedules')
  now = Math.floor(Date.now() / 1_000) * 1_000
  const isolation = new Isolation({ database: store.database, logger: createLogger('silent') })
  source = new PostgresDueSource({ database: store.database, clock: { now: () => now }, isolation })
})

/** The ids of what is due within five seconds, as often as they are handed out. */
async function claimed({ behind = false } = {}): Promise<string[]> {
  const ids: string[] = []
  const take = (entries: DueEntry[]) => {
    for (const entry of entries) if (entry.source === 'schedules') ids.push(entry.jobId)
    return true
  }
  await source.claim({ shards: store.led, until: now + 5_000, behind, take })
  return ids
}

it('a caller that is behind is not made to look back; that is made up for later, however long it took', async () => {
  const first = await store.job({ nominal: now - 1 })
  expect(await claimed()).toEqual([first])
  const late = await store.job({ nominal: now - 1_000 })
  expect(await claimed({ behind: true })).toEqual([])
  now += 20_000
  expect(await claimed({ behind: true })).toEqual([])
  expect(await claimed()).toContain(late)
})

it('what was given back is read again, though it was due long ago', async () => {
  const job = await store.job({ nominal: now - 30_000 })
  expect(await claimed()).toEqual([job])
  expect(await claimed()).toEqual([])
  const about = { executionId: job, due: now - 30_000, shard: 0, tenant: 't', pool: 'p', lane: 0 }
  source.giveBack([{ source: 'retries', ...about }])
  expect(await claimed()).toEqual([job])
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
  const ids = new Set(await claimed())
  expect(ids.size).toBe(12_001)
  expect(ids).toContain(after)
})
