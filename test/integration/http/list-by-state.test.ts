/** Lists by a state that a queue table holds: which executions, page after page. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { readExecutions } from '../../../packages/server/src/store/executions/read.ts'
import {
  firstId,
  lastId,
  resumed,
  type Selection,
  selectExecutions,
} from '../../../packages/server/src/store/executions/select.ts'
import { endOf, openStore, type TestStore, tenant } from '../../support/store.ts'

const hourMs = 3_600_000
const states = ['PENDING', 'RUNNING', 'FAILED', 'TIMED_OUT', 'WORKER_LOST', 'SUCCEEDED'] as const
type State = (typeof states)[number]
const open = states.filter((state) => state !== 'SUCCEEDED')

let store: TestStore

beforeAll(async () => {
  store = await openStore()
})
afterAll(() => store?.[Symbol.asyncDispose]())

const run = <Row extends object>(sql: string, values: unknown[] = []) => store.database.query<Row>(null, sql, values)

const selection = (state: State, more: Partial<Selection> = {}): Selection => ({
  ...{ tenant, states: [state], jobId: null, handler: null, pool: null, origin: null, error: null, labels: null },
  ...{ after: firstId, before: lastId, ...more },
})

/** All pages, newest first. `pages`: how many it took. */
async function listed(state: State, more: Partial<Selection> = {}, { limit = 3, look = 5_000 } = {}) {
  const ids: string[] = []
  let [pages, from] = [0, null as string | null]
  do {
    const part = resumed(selection(state, more), 'desc', from)
    const { ids: found, next } = await selectExecutions(store.database, part, { order: 'desc', limit, look })
    expect(found.length).toBeLessThanOrEqual(limit)
    ids.push(...found)
    pages++
    from = next
  } while (from !== null)
  return { ids, pages }
}

/** By what every row says of itself, newest first. */
async function expected(state: State, owner = tenant): Promise<string[]> {
  const all = await run<{ id: string }>('select execution_id id from carillon.executions')
  const records = await readExecutions(
    store.database,
    owner,
    all.map(({ id }) => id),
  )
  const ids = records.filter((record) => record.state === state).map(({ executionId }) => executionId)
  return ids.sort().reverse()
}

/** One after the other, so that leases and queues are not in the order of ids. */
async function submitAt(count: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++) ids.push(...(await store.submit(1, null, Date.now() - ((i * 7_919) % 100) * 1_000)))
  return ids
}

/** Some of each: ready, waiting, in quarantine, released, leased again, failed. */
async function inAllPlaces(): Promise<void> {
  await submitAt(45)
  const held = await store.lease(30)
  // Later than what `fireReturns` brings back.
  const retryAt = Date.now() + 48 * hourMs
  await store.settle([
    ...held.slice(0, 5).map((lease) => endOf(lease)),
    ...held.slice(5, 9).map((lease) => endOf(lease, 'FAILED', { retryAt })),
    ...held.slice(9, 12).map((lease) => endOf(lease, 'TIMED_OUT', { retryAt })),
    ...held.slice(12, 14).map((lease) => endOf(lease, 'WORKER_LOST', { retryAt })),
    ...held.slice(14, 18).map((lease) => endOf(lease, 'HANDED_BACK')),
  ])
  // What was handed back is leased again in part, under a larger fence: the lease of before still names it.
  await store.fireReturns()
  await store.lease(17)
  await store.settle((await store.lease(1)).map((lease) => endOf(lease, 'HANDED_BACK', { retryAt })))
  const jobId = await store.job({ overlap: 'QUEUE_ONE' })
  await store.fire([jobId], 2)
  await store.assertOnePlace()
}

async function setAside(source: 'ready' | 'retries' | 'leases', key: object, executionId: string): Promise<void> {
  const values = [[source], [JSON.stringify(key)], [executionId]]
  const [done] = await run<{ verdicts: string[] }>(
    `select carillon.set_aside('test', $1, $2::jsonb[], $3, array['TEST'], array['for a test']) verdicts`,
    values,
  )
  expect(done!.verdicts).toEqual(['SET_ASIDE'])
}

describe('a list by state', () => {
  afterEach(() => store.clear())

  it('has what stands there, whole and in order, page after page', async () => {
    await inAllPlaces()
    for (const state of states) {
      const wanted = await expected(state)
      expect(wanted.length, state).toBeGreaterThan(1)
      for (const bounds of [{}, { limit: 1 }, { limit: 100 }, { limit: 3, look: 7 }, { limit: 3, look: 1 }])
        expect((await listed(state, {}, bounds)).ids, `${state} ${JSON.stringify(bounds)}`).toEqual(wanted)
    }
  })

  it('whether the queues are short or long', async () => {
    await inAllPlaces()
    // With `look` 1, more than four rows are too many, and the ledger is walked: the answers are the same.
    for (const state of open) {
      const [short, long] = [await listed(state), await listed(state, {}, { look: 1 })]
      expect(long.ids).toEqual(short.ids)
      expect(short.pages).toBeLessThan(long.pages)
    }
  })

  it('has nothing of another tenant', async () => {
    await inAllPlaces()
    await run(`update carillon.executions set tenant = 'other' where fired_at > now() - interval '1 minute'`)
    await run(
      `update carillon.retries t set tenant = e.tenant from carillon.executions e where e.execution_id = t.execution_id`,
    )
    for (const state of open) {
      for (const owner of [tenant, 'other', 'nobody'])
        expect((await listed(state, { tenant: owner })).ids, `${owner} ${state}`).toEqual(await expected(state, owner))
    }
  })

  it('compares what else is asked for', async () => {
    await inAllPlaces()
    const [job] = await run<{ id: string }>('select job_id id from carillon.jobs')
    for (const state of open) {
      const all = await expected(state)
      const half = all[Math.floor(all.length / 2)]!
      const cases: [Partial<Selection>, (id: string) => boolean][] = [
        [{ handler: 'h' }, () => true],
        [{ handler: 'g' }, () => false],
        [{ pool: 'nowhere' }, () => false],
        [{ origin: 'TRIGGER' }, () => false],
        [{ after: half }, (id) => id > half],
        [{ before: half }, (id) => id < half],
      ]
      for (const [filter, fits] of cases) {
        const { ids } = await listed(state, filter)
        expect(ids, `${state} ${JSON.stringify(filter)}`).toEqual(all.filter(fits))
      }
      // A submission is its own job.
      for (const jobId of [job!.id, half]) {
        const ofJob = await run<{ id: string }>('select execution_id id from carillon.executions where job_id = $1', [
          jobId,
        ])
        const known = new Set(ofJob.map(({ id }) => id))
        expect((await listed(state, { jobId })).ids).toEqual(all.filter((id) => known.has(id)))
      }
    }
  })

  it('has what is in quarantine among what is pending, unless it runs or waits for a retry', async () => {
    await inAllPlaces()
    const [ready] = await run<{ execution_id: string }>(
      'select pool, lane, tag, execution_id from carillon.ready limit 1',
    )
    const [retry] = await run<{ execution_id: string }>(
      `select execution_id from carillon.retries where state = 'FAILED' limit 1`,
    )
    const [held] = await run<{ execution_id: string }>('select execution_id, fence from carillon.running limit 1')
    await setAside('ready', ready!, ready!.execution_id)
    await setAside('retries', retry!, retry!.execution_id)
    await setAside('leases', held!, held!.execution_id)
    // As for a start window that could not be checked: the execution itself goes on.
    const [others] = await run<{ held: string; failed: string }>(
      `insert into carillon.quarantine (source, key, tenant, execution_id, call, code, message)
       select 'deadlines', '{}', $1, i, 'expire', 'TEST', '' from unnest(array[
         (select execution_id from carillon.running limit 1),
         (select execution_id from carillon.retries where state = 'FAILED' limit 1)]) i
       returning execution_id`,
      [tenant],
    )
    expect(others).toBeDefined()
    const pending = (await listed('PENDING')).ids
    for (const { execution_id: id } of [ready!, retry!, held!]) expect(pending).toContain(id)
    for (const state of open) expect((await listed(state)).ids, state).toEqual(await expected(state))
  })

  it('finds a row wherever it moves meanwhile', async () => {
    const ids = (await submitAt(30)).sort().reverse()
    let moving = true
    const moves = (async () => {
      while (moving) {
        const held = await store.lease(10)
        const ends = held.map((lease) => endOf(lease, 'HANDED_BACK'))
        await store.settle(ends)
        await store.fireReturns()
      }
    })()
    try {
      for (let round = 0; round < 100; round++) {
        // One statement, so one moment: each is in exactly one of the lists.
        const [row] = await run<{ pending: string[]; running: string[]; retrying: string[] }>(
          `select ${(['pending', 'running', 'retries'] as const)
            .map(
              (
                source,
              ) => `array(select execution_id from carillon.select_executions('${source}', $1, $2, $3, 5000, 1000,
                array['${source === 'running' ? 'RUNNING' : source === 'pending' ? 'PENDING' : 'FAILED'}'], null, null, null,
                null, null, null)) "${source === 'retries' ? 'retrying' : source}"`,
            )
            .join()}`,
          [tenant, firstId, lastId],
        )
        expect([...row!.pending, ...row!.running, ...row!.retrying].sort().reverse()).toEqual(ids)
      }
    } finally {
      moving = false
      await moves
    }
  })
})
