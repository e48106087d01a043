/** What a list by a state that a queue table holds reads: the queue, and the ledger for what is in it. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { submissionId } from '../../../packages/server/src/domain/identity.ts'
import {
  firstId,
  lastId,
  resumed,
  type Selection,
  selectExecutions,
} from '../../../packages/server/src/store/executions/select.ts'
import { endOf, openStore, type TestStore, tenant } from '../../support/store.ts'
import { Meter } from '../plans/meter.ts'

const hourMs = 3_600_000
type State = 'PENDING' | 'RUNNING' | 'FAILED'

let store: TestStore
let meter: Meter

beforeAll(async () => {
  store = await openStore()
  // A day's work of one tenant, of which three run, three are ready and three have failed; another has a queue of its own.
  await finished(60_000)
  await store.submit(3)
  expect(await store.lease(3)).toHaveLength(3)
  await store.submit(3)
  await store.settle((await store.lease(3)).map((lease) => endOf(lease, 'FAILED', { retryAt: Date.now() + hourMs })))
  await store.submit(3)
  meter = await Meter.open(store.url)
})
afterAll(async () => {
  await meter?.database.end()
  await store?.[Symbol.asyncDispose]()
})

const run = <Row extends object>(sql: string, values: unknown[] = []) => store.database.query<Row>(null, sql, values)

const selection = (state: State): Selection => ({
  ...{ tenant, states: [state], jobId: null, handler: null, pool: null, origin: null, error: null, labels: null },
  ...{ after: firstId, before: lastId },
})

async function finished(count: number): Promise<void> {
  const at = Date.now() - hourMs
  const ids = Array.from({ length: count }, (_, i) => submissionId(at + (i % 3_000_000)))
  await run(
    `insert into carillon.executions (execution_id, job_id, tenant, pool, lane, handler, tag, origin, scheduled_for, due_at, fired_at,
       state, attempt, finished_at)
     select i, i, $2, 'default', 2, 'h', -1, 'SUBMIT', now(), now(), now(), 'SUCCEEDED', 1, now() from unnest($1::uuid[]) i`,
    [ids, tenant],
  )
}

/** Of another tenant, ready. */
async function crowd(count: number): Promise<void> {
  await run(
    `with born as (
       insert into carillon.executions (execution_id, job_id, tenant, pool, lane, handler, tag, origin, scheduled_for, due_at, fired_at)
       select i, i, 'crowd', 'default', 2, 'h', 1000000 + n, 'SUBMIT', now(), now(), now()
       from unnest($1::uuid[]) with ordinality i(i, n) returning pool, lane, tag, execution_id)
     insert into carillon.ready (pool, lane, tag, execution_id) select * from born`,
    [Array.from({ length: count }, () => submissionId(Date.now()))],
  )
}

const read = async (state: State) => {
  const reading = () =>
    meter.read((database) => selectExecutions(database, selection(state), { order: 'desc', limit: 50, look: 5_000 }))
  // The first calls plan, and look up in the catalogue what later ones know.
  for (let i = 0; i < 6; i++) await reading()
  return reading()
}

it.each(['before', 'after'])('is a few pages, %s the tables were analysed', async (when) => {
  if (when === 'after') await run('analyze carillon.executions, carillon.leases, carillon.retries, carillon.ready')
  for (const state of ['RUNNING', 'PENDING', 'FAILED'] as const) {
    const { buffers, result } = await read(state)
    expect(result).toEqual({ ids: await expected3(state), next: null })
    expect(buffers, state).toBeLessThan(80)
  }
})

it('grows with a queue of others, up to a bound', async () => {
  await crowd(3_000)
  const beside = await read('PENDING')
  expect(beside.result).toEqual({ ids: await expected3('PENDING'), next: null })
  // Four for each of them: its row in the ledger.
  expect(beside.buffers).toBeLessThan(3_000 * 5)
  await crowd(40_000)
  const beyond = await read('PENDING')
  // What was counted of the queue, and 5,000 rows of the tenant's ledger.
  expect(beyond.buffers).toBeLessThan(12_000)
  const ids: string[] = []
  for (let from: string | null = lastId; from !== null; ) {
    const part = resumed(selection('PENDING'), 'desc', from)
    const piece = await selectExecutions(store.database, part, { order: 'desc', limit: 50, look: 5_000 })
    ids.push(...piece.ids)
    from = piece.next
  }
  expect(ids).toEqual(await expected3('PENDING'))
})

async function expected3(state: State): Promise<string[]> {
  const from = { RUNNING: 'running', PENDING: 'ready', FAILED: 'retries' }[state]
  const rows = await run<{ id: string }>(
    `select execution_id id from carillon.executions e join carillon.${from} using (execution_id) where e.tenant = $1
     order by execution_id desc`,
    [tenant],
  )
  expect(rows).toHaveLength(3)
  return rows.map(({ id }) => id)
}
