/** Long work with several nodes: nothing is done twice, nothing is lost, whoever dies in the middle. */

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { KnownPools } from '../../../packages/server/src/jobs/pools.ts'
import { monotonicMs } from '../../../packages/server/src/lib/clock.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { Operations } from '../../../packages/server/src/operations/operations.ts'
import { Operator } from '../../../packages/server/src/operations/operator.ts'
import { Pruner } from '../../../packages/server/src/upkeep/pruner.ts'
import { quickTimes } from '../../support/carillon.ts'
import { openNodes } from '../../support/nodes.ts'
import { endOf, openStore, type TestStore, tenant } from '../../support/store.ts'
import { until } from '../../support/until.ts'
import { seed } from './worked-node.ts'

let store: TestStore
let sql: pg.Pool
let operations: Operations
const clock = { now: monotonicMs }
const signals = { publish() {}, subscribe: () => () => {}, async start() {}, async stop() {} }
const by = { tenant, actor: 'a test' }

beforeAll(async () => {
  store = await openStore()
  sql = new pg.Pool({ connectionString: store.url, max: 2 })
  operations = new Operations({ database: store.database, clock, pools: new KnownPools(store.database), wake() {} })
})
afterAll(async () => {
  await sql.end()
  await store[Symbol.asyncDispose]()
})

const tag = async (flows: readonly unknown[]) => flows.map(() => store.tag())
const operator = () =>
  new Operator({ database: store.database, signals, clock, logger: createLogger('silent'), tag, everyMs: 100 })

/** How often each was replayed. */
async function replays(): Promise<number[]> {
  const { rows } = await sql.query(
    `select distinct (select count(*)::int from jsonb_array_elements(e.history) h where h ->> 'reason' = 'REPLAYED') n
     from carillon.executions e where e.tenant = $1`,
    [tenant],
  )
  return rows.map((row) => row.n)
}

const begin = async (ratePerSec?: number) =>
  (await (await operations.bulk(by, 'REPLAY_DEAD_LETTERS', {})).begin({ ratePerSec })).operationId

describe('long work and several nodes', () => {
  it('three at once share the work', async () => {
    await seed(sql, 1_500, { tenant })
    const id = await begin()
    const operators = [operator(), operator(), operator()]
    await until(async () => {
      await Promise.all(operators.map((each) => each.runOnce()))
      return (await operations.read(tenant, id)).state === 'SUCCEEDED'
    })
    const { done, skipped } = await operations.read(tenant, id)
    expect({ done, skipped, replays: await replays() }).toEqual({ done: 1_500, skipped: 0, replays: [1] })
    await store.assertOnePlace()
    await store.clear()
  })

  it('one that comes back too late writes nothing', async () => {
    const ids = await seed(sql, 300, { tenant })
    const id = await begin()
    const taken = () => store.database.query<{ fence: number }>(null, 'select fence from carillon.take_operation(0)')
    const [first] = await taken()
    const [second] = await taken()
    expect(second!.fence).toBeGreaterThan(first!.fence)
    const step = `select carillon.operate_retry($1, $2, $3, 'x', false, 0, 'late') n`
    expect(await store.database.query(null, step, [id, first!.fence, ids])).toEqual([{ n: 0 }])
    expect((await operations.read(tenant, id)).position).toBeNull()
    await operator().runOnce()
    await operator().runOnce()
    expect(await replays()).toEqual([1])
    await store.clear()
  })

  it('what is held by whoever is ending it is cancelled afterwards', async () => {
    const [held, other] = await store.submit(2)
    const leases = [...(await store.lease(1)), ...(await store.lease(1))]
    const client = await sql.connect()
    await client.query('begin')
    await client.query('select from carillon.leases where ids = array[$1::uuid] for update', [held])
    const { operationId } = await (await operations.bulk(by, 'CANCEL', {})).begin({})
    const works = operator()
    await works.runOnce()
    expect(await operations.read(tenant, operationId)).toMatchObject({ state: 'RUNNING', done: 1, open: [held] })
    await client.query('rollback')
    client.release()
    await until(async () => {
      await works.runOnce()
      return (await operations.read(tenant, operationId)).state === 'SUCCEEDED'
    })
    expect(await operations.read(tenant, operationId)).toMatchObject({ done: 2, skipped: 0, open: [] })
    await store.settle(leases.map((lease) => endOf(lease, 'CANCELLED')))
    expect(other).toBeDefined()
    await store.assertOnePlace()
    await store.clear()
  })

  it('what ended before all that is kept is forgotten', async () => {
    const { operationId } = await (await operations.bulk(by, 'PURGE_DEAD_LETTERS', {})).begin({})
    await operator().runOnce()
    const ended = `update carillon.operations set finished_at = now() - interval '40 days' where operation_id = $1`
    await sql.query(ended, [operationId])
    await new Pruner({ database: store.database }).runOnce()
    await expect(operations.read(tenant, operationId)).rejects.toThrow('there is no operation')
  })

  it('a node is killed in the middle, and another goes on', async () => {
    await seed(sql, 2_000, { tenant, pool: 'nobody serves it' })
    await using nodes = await openNodes(store.url)
    const first = await nodes.launch('first', quickTimes)
    const id = await begin(1_000)
    await until(async () => (await operations.read(tenant, id)).done > 200)
    await first.end('SIGKILL')
    const left = await operations.read(tenant, id)
    expect(left).toMatchObject({ state: 'RUNNING' })
    await nodes.launch('second', quickTimes)
    await until(async () => (await operations.read(tenant, id)).state === 'SUCCEEDED', 25_000)
    const { done, skipped } = await operations.read(tenant, id)
    expect({ done, skipped, replays: await replays() }).toEqual({ done: 2_000, skipped: 0, replays: [1] })
    expect(left.done).toBeLessThan(2_000)
  })
})
