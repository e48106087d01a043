/** History goes when it has been kept long enough, a whole partition at a time, and never with anything still needed. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { firstIdAt, submissionId, timeOf } from '../../../packages/server/src/domain/identity.ts'
import { requireKept } from '../../../packages/server/src/jobs/kept.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { readInstallation, readPartitions } from '../../../packages/server/src/store/partitions/manage.ts'
import { Partitioner } from '../../../packages/server/src/upkeep/partitioner.ts'
import { endOf, openStore, type TestStore } from '../../support/store.ts'
import { until } from '../../support/until.ts'

const dayMs = 86_400_000
let store: TestStore
let sql: pg.Client
let today: number

beforeAll(async () => {
  store = await openStore()
  sql = new pg.Client({ connectionString: store.url })
  await sql.connect()
  today = Math.floor(Date.now() / dayMs) * dayMs
  await partitioner(today + 12 * dayMs).createMissing()
})
afterAll(async () => {
  await sql.end()
  await store[Symbol.asyncDispose]()
})

describe('retention', () => {
  it('drops what is past it and nothing else, with its endings, and deletes no row', async () => {
    await sql.query(`
      create function public.no_delete() returns trigger language plpgsql as $$ begin raise 'a row was deleted'; end $$;
      create trigger no_delete before delete on carillon.executions for each row execute function public.no_delete();
      create trigger no_delete before delete on carillon.endings for each row execute function public.no_delete()`)
    await finished(today - 1)
    await finished(today - 2, 'DEAD')
    const young = await finished(today)
    await sql.query(`update carillon.executions set finished_at = scheduled_for where state = 'DEAD'`)
    await partitioner(today + 30 * dayMs - 1).dropExpired()
    expect(await oldest()).toBe(today - dayMs)
    await partitioner(today + 30 * dayMs).dropExpired()
    await expectGone(today - dayMs)
    const left = await sql.query(
      'select execution_id from carillon.executions union select execution_id from carillon.endings',
    )
    expect(left.rows).toEqual([{ execution_id: young }])
  })

  it('raises the floor, below which nothing is written any more', async () => {
    await partitioner(today + 30 * dayMs).dropExpired()
    expect(timeOf((await readInstallation(store.database)).floorId)).toBe(today)
    await expect(requireKept(store.database, today - 1)).rejects.toMatchObject({ code: 'TIME_OUT_OF_RANGE' })
    await requireKept(store.database, today)
    // FIRE refuses the old occurrence by itself; the other of the same call fires.
    const [late, fine] = [await store.job({ nominal: today - 1_000 }), await store.job({ nominal: today })]
    const fired = await store.fire([late, fine])
    expect(fired.tooOld).toHaveLength(1)
    expect(fired.fired).toBe(1)
    const { rows } = await sql.query('select job_id from carillon.executions where job_id = any ($1)', [[late, fine]])
    expect(rows).toEqual([{ job_id: fine }])
    await forgetWork()
  })

  it.each<[string, (at: number) => Promise<unknown>]>([
    ['is a one-shot that has not fired yet', (at) => oneShot(at)],
    ['is ready', (at) => store.submit(1, null, at)],
    ['runs', (at) => store.submit(1, null, at).then(() => store.lease(1))],
    ['waits to be tried again', (at) => failed(at)],
    ['waits for another of its job', (at) => insert('waiting', { at, key: `job:${crypto.randomUUID()}` })],
    [
      'a caller enqueued',
      (at) =>
        insert('submissions', { at, shard: 0, tenant: 'acme', pool: 'default', lane: 2, handler: 'h', run_at: 'now' }),
    ],
    ['died lately, however long ago it was born', (at) => finished(at, 'DEAD').then(() => dieAt(at + dayMs))],
  ])('keeps a partition with work that %s', async (_, prepare) => {
    const from = await oldest()
    await prepare(from)
    const afterwards = partitioner(from + 31 * dayMs)
    await afterwards.dropExpired()
    expect(await oldest()).toBe(from)
    await forgetWork()
    await afterwards.dropExpired()
    await expectGone(from)
  })

  it('finishes what a node died over while it waited for a reader', async () => {
    const from = await oldest()
    const afterwards = partitioner(from + 31 * dayMs)
    const reader = new pg.Client({ connectionString: store.url })
    reader.on('error', () => {})
    await reader.connect()
    await reader.query('begin')
    await reader.query('select from carillon.executions')
    const outcome = afterwards.dropExpired().then(
      () => 'dropped',
      (error: { code: string }) => error.code,
    )
    await until(async () => {
      const { rowCount } = await sql.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and query like 'alter table %detach partition%' and wait_event_type = 'Lock'`,
      )
      return rowCount === 1
    })
    expect(await outcome).toBe('57P01')
    const { rows } = await sql.query(
      'select c.relname name from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhdetachpending',
    )
    expect(rows).toEqual([{ name: `executions_p${from}` }])
    expect(timeOf((await readInstallation(store.database)).floorId)).toBe(from + dayMs)
    // The reader is in the way still: given up in time, tried again later. Nothing else stands still meanwhile.
    await expect(afterwards.dropExpired()).rejects.toMatchObject({ code: '55P03' })
    expect(await partitioner(today + 13 * dayMs).createMissing()).toBeNull()
    await reader.query('rollback')
    await reader.end()
    // Also where history is to be kept for longer by now.
    await sql.query('update carillon.installation set retention_days = 300')
    await afterwards.dropExpired()
    await expectGone(from)
    await sql.query('update carillon.installation set retention_days = 30')
  })

  it.each(['executions', 'endings', 'log_lines'])(
    'removes what a node had detached but not dropped: %s',
    async (parent) => {
      const from = await oldest()
      await sql.query(`alter table carillon.${parent} detach partition carillon.${parent}_p${from}`)
      if (parent !== 'executions') await sql.query(`drop table carillon.executions_p${from}`)
      await sql.query('update carillon.installation set floor_id = $1', [firstIdAt(from + dayMs)])
      await partitioner(today).runOnce()
      await expectGone(from)
    },
  )
})

function partitioner(now: number): Partitioner {
  return new Partitioner({ database: store.database, clock: { now: () => now }, logger: createLogger('silent') })
}

async function oldest(): Promise<number> {
  return (await readPartitions(store.database))[0]!.from
}

async function expectGone(from: number): Promise<void> {
  expect((await sql.query(`select from pg_class where relname ~ '_p${from}'`)).rowCount).toBe(0)
  expect(await oldest()).toBe(from + dayMs)
}

async function failed(at: number): Promise<void> {
  await store.submit(1, null, at)
  await store.report([endOf((await store.lease(1))[0]!, 'FAILED', { retryAt: at + 365 * dayMs })])
}

/** An execution born at an instant that ended just now. */
async function finished(at: number, how: 'SUCCEEDED' | 'DEAD' = 'SUCCEEDED'): Promise<string> {
  const [id] = await store.submit(1, null, at)
  const [held] = await store.lease(1)
  const end = how === 'DEAD' ? endOf(held!, 'FAILED', { next: 'DEAD', retryAt: null, reason: 'X' }) : endOf(held!)
  await store.report([end])
  return id!
}

async function dieAt(at: number): Promise<void> {
  await sql.query(`update carillon.executions set finished_at = $1 where state = 'DEAD'`, [new Date(at)])
}

async function insert(table: string, { at, ...columns }: { at: number } & Record<string, unknown>): Promise<void> {
  const row = JSON.stringify({ execution_id: submissionId(at), ...columns })
  await sql.query(`insert into carillon.${table} select * from jsonb_populate_record(null::carillon.${table}, $1)`, [
    row,
  ])
}

async function oneShot(nominal: number): Promise<string> {
  return store.job({ type: 'ONE_SHOT', interval: null, anchor: null, runAt: new Date(nominal).toISOString(), nominal })
}

/** Nothing is unfinished any more, and the dead died long ago. */
async function forgetWork(): Promise<void> {
  for (const table of ['ready', 'leases', 'lease_notes', 'retries', 'waiting', 'submissions', 'schedules'])
    await sql.query(`delete from carillon.${table}`)
  await dieAt(today - dayMs)
}
