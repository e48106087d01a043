/** Long work keeps the lock order of 0001_engine.sql, and steps on nobody's toes. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { copyId, newId, occurrenceId } from '../../../packages/server/src/domain/identity.ts'
import type { Database } from '../../../packages/server/src/store/database.ts'
import { againstOrder, LockWatch } from '../../support/lock-watch.ts'
import { endOf, everyMs, openStore, type TestStore, tenant } from '../../support/store.ts'
import { raceTimeoutMs } from './rounds.ts'

describe('the locks of long work', { timeout: raceTimeoutMs }, () => {
  let store: TestStore
  let watch: LockWatch
  beforeAll(async () => {
    store = await openStore()
    watch = new LockWatch(store.url)
  })
  afterAll(async () => {
    await watch[Symbol.asyncDispose]()
    await store[Symbol.asyncDispose]()
  })

  it('are taken in the order of all others', async () => {
    const start = Math.floor(Date.now() / 1_000) * 1_000 - 3_600_000
    const jobs = [
      await store.job({ jobId: newId(Date.now() + 1_000), nominal: start, overlap: 'FORBID' }),
      await store.job({ jobId: newId(Date.now()), nominal: start + 60_000, overlap: 'ALLOW' }),
    ]
    await store.fire(jobs)
    await store.submit(4)
    const leases = await store.lease(10)
    await store.settle(leases.slice(0, 4).map((held) => endOf(held, 'FAILED', { next: 'DEAD', reason: 'X' })))
    const ready = await store.submit(2)
    const dead = leases.slice(0, 4).map((lease) => lease.executionId)
    const open = [...leases.slice(4).map((lease) => lease.executionId), ...ready]
    const skipped = await skipFrom(store, jobs[1]!, start - 10 * everyMs)
    const id = await operation(store)
    const args = [id, 0]
    const at = Date.now()
    const backwards = (ids: string[]) => ids.toSorted().toReversed()
    const step =
      (fn: string, ids: string[], more = '') =>
      (db: Database) =>
        db.query(null, `select carillon.${fn}($1, $2, $3, null, false, 0${more}, 'test')`, [...args, backwards(ids)])
    for (const [name, work] of Object.entries({
      cancel: step('operate_cancel', open, `, 'ANY'`),
      retry: step('operate_retry', dead),
      purge: (db: Database) =>
        db.query(null, 'select carillon.operate_purge($1, $2, $3, null, false, 0)', [...args, backwards(dead)]),
      copy: (db: Database) =>
        db.query(null, `select carillon.operate_copy($1, $2, $3, $4, $5, 0, 'default', $6, null, false, 0, 'test')`, [
          ...args,
          backwards(dead),
          dead.map((each) => copyId(id, each, at)),
          dead.map(() => store.tag()),
          at,
        ]),
      backfill: (db: Database) =>
        db.query(null, `select carillon.backfill($1, $2, $3, 1, $4, '{}', 0, null, false, 0, 0, 'test')`, [
          ...[...args, jobs[1], JSON.stringify(skipped)],
        ]),
    })) {
      const waits = await watch.waits(work)
      expect(againstOrder(waits), name).toEqual([])
      if (name !== 'purge' && name !== 'copy') expect(waits.length, name).toBeGreaterThan(0)
    }
  })
})

/** A SKIPPED row that stands for three occurrences, and what a backfill would do with the last two of them. */
async function skipFrom(store: TestStore, jobId: string, first: number): Promise<object[]> {
  const at = (i: number) => first + i * everyMs
  const id = (i: number) => occurrenceId(jobId, at(i))
  await store.database.query(
    null,
    `with born as (
       insert into carillon.executions (execution_id, job_id, job_version, tenant, pool, lane, handler, tag, origin,
         scheduled_for, due_at, fired_at, skipped_last, skipped_count, state, reason, finished_at)
       select $1, $2, 1, $3, 'default', 2, 'h', -1, 'SCHEDULE', carillon.at($4), carillon.at($4), now(), carillon.at($5), 3,
         'SKIPPED', 'PAUSED', now() returning execution_id, tenant, state)
     insert into carillon.endings select * from born`,
    [id(0), jobId, tenant, at(0), at(2)],
  )
  const tail = { id: id(2), nominal: at(2), due: at(2), count: 1 }
  return [
    { id: id(1), nominal: at(1), due: at(1), passed: 0, cover: { id: id(0), last: at(2), head: 1, prev: at(0), tail } },
    {
      id: id(2),
      nominal: at(2),
      due: at(2),
      passed: 0,
      cover: { id: id(2), last: at(2), head: 0, prev: null, tail: null },
    },
  ]
}

async function operation(store: TestStore): Promise<string> {
  const id = newId(Date.now())
  const row = { id, tenant, kind: 'RETRY', params: {}, total: null, rate: null, actor: 'test', at: Date.now() }
  await store.database.query(null, 'select carillon.create_operation($1, null)', [JSON.stringify(row)])
  return id
}
