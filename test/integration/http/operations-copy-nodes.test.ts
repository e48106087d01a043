/** Copies by several nodes: none is missing and none is made twice, whoever dies in the middle. */
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createTagger } from '../../../packages/server/src/admission/tags.ts'
import { VirtualTimes } from '../../../packages/server/src/admission/virtual-times.ts'
import { copyId, newId, timeOf } from '../../../packages/server/src/domain/identity.ts'
import { KnownPools } from '../../../packages/server/src/jobs/pools.ts'
import { monotonicMs } from '../../../packages/server/src/lib/clock.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { Operations } from '../../../packages/server/src/operations/operations.ts'
import { Operator } from '../../../packages/server/src/operations/operator.ts'
import type { Signal } from '../../../packages/server/src/signals/port.ts'
import type { CopyParams } from '../../../packages/server/src/store/operations/operations.ts'
import { verifyInstallation } from '../../../packages/server/src/verification/installation.ts'
import { quickTimes } from '../../support/carillon.ts'
import { openNodes } from '../../support/nodes.ts'
import { openStore, type TestStore, tenant } from '../../support/store.ts'
import { until } from '../../support/until.ts'
import { seed } from './worked-node.ts'

let store: TestStore
let sql: pg.Pool
let operations: Operations
const clock = { now: monotonicMs }
const published: Signal[] = []
const signals = {
  publish: (signal: Signal) => void published.push(signal),
  subscribe: () => () => {},
  async start() {},
  async stop() {},
}
const submitted: string[] = []
const by = { tenant, actor: 'a test' }
const logger = createLogger('silent')

beforeAll(async () => {
  store = await openStore()
  sql = new pg.Pool({ connectionString: store.url, max: 2 })
  await sql.query(`insert into carillon.pools (pool) values ('staging')`)
  const { database } = store
  operations = new Operations({ database, clock, pools: new KnownPools(database), wake() {} })
})
afterEach(async () => {
  published.length = 0
  submitted.length = 0
  await sql.query('delete from carillon.operations')
  await store.clear()
})
afterAll(async () => {
  await sql.end()
  await store[Symbol.asyncDispose]()
})

function operator(): Operator {
  const { database } = store
  return new Operator({
    ...{ database, signals, clock, logger, everyMs: 100 },
    tag: createTagger(database, new VirtualTimes({ database, logger })),
    onSubmitted: (items) => submitted.push(...items.map(({ executionId }) => executionId)),
  })
}

const begin = async (ratePerSec?: number) =>
  (await (await operations.copy(by, { filter: {}, pool: 'staging' })).begin({ ratePerSec })).operationId

const past = () => ({ tenant, state: 'SUCCEEDED' as const, at: Date.now() - 1_000 })

/** Originals, and how many copies they have, in the order of the queue. */
async function copied(): Promise<string[]> {
  const { rows } = await sql.query(
    `select e.labels ->> 'copiedFrom' source from carillon.ready r join carillon.executions e using (execution_id)
     where r.pool = 'staging' order by r.lane, r.tag`,
  )
  return rows.map(({ source }) => source)
}

describe('copies and several nodes', () => {
  it('three at once share the work, and the copies stand in the order of the originals', async () => {
    const ids = await seed(sql, 1_500, past())
    const id = await begin()
    const operators = [operator(), operator(), operator()]
    await until(async () => {
      await Promise.all(operators.map((each) => each.runOnce()))
      return (await operations.read(tenant, id)).state === 'SUCCEEDED'
    })
    const { done, skipped, total, params } = await operations.read(tenant, id)
    expect({ done, skipped, total }).toEqual({ done: 1_500, skipped: 0, total: 1_500 })
    expect(await copied()).toEqual(ids)
    const { at } = params as CopyParams
    expect(submitted.toSorted()).toEqual(ids.map((each) => copyId(id, each, at)).toSorted())
    expect(submitted.map(timeOf)).toEqual(submitted.map(() => at))
    expect(published).toContainEqual({ kind: 'READY', pool: 'staging', lane: 2, tag: expect.any(Number) })
    await store.assertOnePlace()
  })

  it('a step that is repeated copies nothing twice, and one that comes too late writes nothing', async () => {
    const ids = await seed(sql, 3, past())
    const id = await begin()
    const { at } = (await operations.read(tenant, id)).params as CopyParams
    const take = async () =>
      (await sql.query(`select fence from carillon.take_known_operation('{COPY}', 0)`)).rows[0].fence as number
    const step = async (fence: number) => {
      const copies = ids.map((each) => copyId(id, each, at))
      const { rows } = await sql.query(
        `select created from carillon.operate_copy($1, $2, $3, $4, $5, 0, 'staging', $6, $7, false, 0, 'test')`,
        [id, fence, ids, copies, [1, 2, 3], at, ids[0]],
      )
      return rows.map(({ created }) => created.length)
    }
    const [first, second] = [await take(), await take()]
    expect(await step(first)).toEqual([])
    expect(await operations.read(tenant, id)).toMatchObject({ position: null, done: 0 })
    expect(await step(second)).toEqual([3])
    // As a database would have it that kept the copies and lost the position.
    expect(await step(second)).toEqual([0])
    expect(await operations.read(tenant, id)).toMatchObject({ done: 3, skipped: 3 })
    expect((await copied()).toSorted()).toEqual(ids.toSorted())
  })

  it('a node of the version before does not take up a copy, which it would replay', async () => {
    await seed(sql, 1, { ...past(), state: 'DEAD' })
    await begin()
    expect((await sql.query('select * from carillon.take_operation(0)')).rows).toEqual([])
    await operator().runOnce()
    expect(await copied()).toHaveLength(1)
  })

  it('what cannot be copied is left alone, and the rest goes on', async () => {
    const ids = await seed(sql, 50, past())
    await sql.query(`update carillon.executions set policy = '{"deadlineSec": "soon"}' where execution_id = $1`, [
      ids[7],
    ])
    const id = await begin()
    await until(async () => {
      await operator().runOnce()
      return (await operations.read(tenant, id)).state === 'SUCCEEDED'
    })
    expect(await operations.read(tenant, id)).toMatchObject({ done: 49, skipped: 1 })
    expect(await copied()).toEqual(ids.filter((_, i) => i !== 7))
  })

  it('what would lie before the kept history is left alone', async () => {
    await seed(sql, 3, past())
    const id = await begin()
    const { rows } = await sql.query('select floor_id from carillon.installation')
    await sql.query('update carillon.installation set floor_id = $1', [newId(Date.now() + 60_000)])
    await operator().runOnce()
    await sql.query('update carillon.installation set floor_id = $1', [rows[0].floor_id])
    expect(await operations.read(tenant, id)).toMatchObject({ state: 'SUCCEEDED', done: 0, skipped: 3 })
    expect(await copied()).toEqual([])
  })

  it('a node is killed in the middle, and another goes on', async () => {
    const ids = await seed(sql, 2_000, past())
    await using nodes = await openNodes(store.url)
    const first = await nodes.launch('first', quickTimes)
    const id = await begin(1_000)
    await until(async () => (await operations.read(tenant, id)).done > 200)
    await first.end('SIGKILL')
    const left = await operations.read(tenant, id)
    expect(left).toMatchObject({ state: 'RUNNING' })
    await nodes.launch('second', quickTimes)
    await until(async () => (await operations.read(tenant, id)).state === 'SUCCEEDED', 25_000)
    expect(await operations.read(tenant, id)).toMatchObject({ done: 2_000, skipped: 0 })
    expect((await copied()).toSorted()).toEqual(ids.toSorted())
    expect(left.done).toBeLessThan(2_000)
    const { rows } = await sql.query(`select count(*)::int n from carillon.executions where tenant = $1`, [tenant])
    expect(rows[0].n).toBe(4_000)
    // What was seeded never ran: verify is asked about the time of the copies alone.
    const { at } = left.params as CopyParams
    const now = Date.now()
    const { counts, lost } = await verifyInstallation(store.database, { from: at, to: now, now })
    expect(counts).toEqual({ missed: 0, doubled: 0, stuck: 0, wrong: 0 })
    expect(lost.submissions).toBe(0)
  })
})
