/** What FIRE refuses, what it records, and what leaves the tables. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { occurrenceId } from '../../../packages/server/src/domain/identity.ts'
import { planSchedule } from '../../../packages/server/src/scheduling/plan.ts'
import { changeJob } from '../../../packages/server/src/store/jobs/change.ts'
import { readDueSchedules } from '../../../packages/server/src/store/schedules/read-due.ts'
import { endOf, everyMs, openStore, type TestStore } from '../../support/store.ts'

const dayMs = 86_400_000

describe('FIRE', () => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore()
  })
  afterAll(async () => {
    await store.assertOnePlace()
    await store[Symbol.asyncDispose]()
  })

  async function planned(options: Parameters<TestStore['job']>[0] = {}, count = 1) {
    const jobId = await store.job(options)
    const record = (await store.readJob(jobId))!
    return { jobId, record, ...store.plan(record, count) }
  }
  const rowsOf = (jobId: string) =>
    store.database.query<{ execution_id: string; state: string | null; reason: string | null; payload: string | null }>(
      null,
      'select execution_id, state, reason, payload from carillon.executions where job_id = $1 order by execution_id',
      [jobId],
    )
  const nothing = { moved: [], fired: 0, duplicates: 0, collisions: [], tooOld: [], queued: [] }

  it('with a wrong epoch fires nothing, and leaves the schedule where it is', async () => {
    const { jobId, record, move, occurrences } = await planned()
    for (const off of [-1, 1]) {
      const wrong = store.led.map(({ shard, epoch }) => ({ shard, epoch: epoch + off }))
      expect(await store.fireAs(wrong, [move], occurrences)).toEqual(nothing)
    }
    const others = store.led.filter(({ shard }) => shard !== record.shard)
    expect(await store.fireAs(others, [move], occurrences)).toEqual(nothing)
    expect(await store.readJob(jobId)).toEqual(record)
    expect((await store.fireAs(store.led, [move], occurrences)).moved).toEqual([jobId])
  })

  it('planned by a clock that is ahead fires nothing whose time has not come, and holds up no other job', async () => {
    const ahead = await planned({ nominal: Date.now() - 500 }, 3)
    const other = await planned()
    const { moved, fired } = await store.fireAs(
      store.led,
      [ahead.move, other.move],
      [...ahead.occurrences, ...other.occurrences],
    )
    expect({ moved, fired }).toEqual({ moved: [other.jobId], fired: 1 })
    expect(await rowsOf(ahead.jobId)).toEqual([])
    expect(await store.readJob(ahead.jobId)).toEqual(ahead.record)
  })

  it('of an old version, an old due time, or before its time fires nothing', async () => {
    const { record, move, occurrences } = await planned()
    expect(await store.fireAs(store.led, [{ ...move, version: 2 }], occurrences)).toEqual(nothing)
    expect(await store.fireAs(store.led, [{ ...move, due: move.due - 1 }], occurrences)).toEqual(nothing)
    const definition = { ...record.definition, name: 'other' }
    const { nominal, due } = record
    await changeJob(store.database, record, { definition, state: 'ACTIVE', nominal, due, live: null, skipped: [] })
    expect(await store.fireAs(store.led, [move], occurrences)).toEqual(nothing)
    const ahead = await planned({ nominal: Date.now() + 60_000 })
    expect(await store.fireAs(store.led, [ahead.move], ahead.occurrences)).toEqual(nothing)
    const paused = await planned()
    const pause = { definition: null, state: 'PAUSED' as const, nominal: paused.record.nominal, due: null }
    await changeJob(store.database, paused.record, { ...pause, live: null, skipped: [] })
    expect(await store.fireAs(store.led, [paused.move], paused.occurrences)).toEqual(nothing)
  })

  it('of one occurrence twice makes one row, and counts the duplicate', async () => {
    const { jobId, move, occurrences } = await planned()
    expect(await store.fireAs(store.led, [move], occurrences)).toMatchObject({ fired: 1, duplicates: 0 })
    expect(await store.fireAs(store.led, [move], occurrences)).toEqual(nothing)
    // The schedule set back by hand: the primary key refuses what the due time let through.
    await store.database.query(
      null,
      'update carillon.schedules set nominal = carillon.at($2), due = carillon.at($2) where job_id = $1',
      [jobId, move.due],
    )
    const again = await store.fireAs(store.led, [move], occurrences)
    expect(again).toMatchObject({ moved: [jobId], fired: 0, duplicates: 1, collisions: [], queued: [] })
    expect(await rowsOf(jobId)).toHaveLength(1)
  })

  it('reports an id that belongs to another job, and never takes it for fired', async () => {
    const mine = await planned()
    const other = await planned()
    await store.fireAs(store.led, [other.move], other.occurrences)
    const clash = { ...mine.occurrences[0]!, executionId: other.occurrences[0]!.executionId }
    const fired = await store.fireAs(store.led, [mine.move], [clash])
    expect(fired).toMatchObject({ fired: 0, collisions: [clash.executionId], queued: [] })
    expect(await rowsOf(mine.jobId)).toEqual([])
  })

  it('refuses ids below the floor row by row; the rest of the batch fires', async () => {
    const old = await planned({ nominal: Math.floor(Date.now() / 1_000) * 1_000 - 5 * dayMs, overlap: 'FORBID' })
    const good = await planned()
    const moves = [old.move, good.move]
    const fired = await store.fireAs(store.led, moves, [...old.occurrences, ...good.occurrences])
    expect(fired).toMatchObject({ fired: 1, duplicates: 0, tooOld: [old.occurrences[0]!.executionId] })
    expect(fired.moved.toSorted()).toEqual([old.jobId, good.jobId].toSorted())
    expect(await rowsOf(old.jobId)).toEqual([])
    expect(await rowsOf(good.jobId)).toHaveLength(1)
  })

  it('takes a one-shot out of the jobs, with its definition, also for what was triggered of it', async () => {
    const at = Math.floor(Date.now() / 1_000) * 1_000 - 1_000
    const once = { type: 'ONE_SHOT' as const, interval: null, anchor: null, runAt: new Date(at).toISOString() }
    const { jobId, move, occurrences } = await planned({
      ...once,
      nominal: at,
      payload: '{"a":1}',
      overlap: 'QUEUE_ONE',
    })
    const triggered = await store.trigger(jobId)
    expect(triggered.verdict).toBe('READY')
    expect((await store.fireAs(store.led, [move], occurrences)).moved).toEqual([jobId])
    expect(await store.readJob(jobId)).toBeNull()
    const left = await store.database.query(null, 'select from carillon.schedules where job_id = $1', [jobId])
    expect(left).toEqual([])
    expect((await rowsOf(jobId)).map((row) => row.payload)).toEqual(['{"a":1}', '{"a":1}'])
    // What waits behind the trigger is released though the schedule is gone.
    expect((await store.unfinished(jobId)).map(({ place }) => place).toSorted()).toEqual(['ready', 'waiting'])
    const leases = (await store.lease(1_000)).filter((lease) => lease.jobId === jobId)
    expect(leases.map((lease) => lease.payload)).toEqual([{ a: 1 }])
    await store.settle(leases.map((lease) => endOf(lease)))
    expect((await store.unfinished(jobId)).map(({ place }) => place)).toEqual(['retries'])
  })

  it('completes a job that has no further occurrence, by its end or by maxFires', async () => {
    const first = Math.floor(Date.now() / 1_000) * 1_000 - 10_000
    const bounded = await store.job({ nominal: first, endAt: new Date(first + 2 * everyMs).toISOString() })
    const counted = await store.job({ nominal: first, maxFires: 2 })
    const window = { shards: store.led.map((s) => s.shard), from: first - 1, until: first + 1, limit: 100 }
    const due = (await readDueSchedules(store.database, window)).filter((row) => [bounded, counted].includes(row.jobId))
    const plans = due.map((row) => planSchedule(row, Date.now()))
    const occurrences = plans.flatMap((plan) => plan.occurrences.map((o) => ({ ...o, tag: store.tag() })))
    const moves = plans.map((plan) => plan.move)
    expect((await store.fireAs(store.led, moves, occurrences)).fired).toBe(5)
    for (const [jobId, fires] of [
      [bounded, 3],
      [counted, 2],
    ] as const) {
      expect(await store.readJob(jobId)).toMatchObject({ state: 'COMPLETED', due: null, fires })
      const ids = Array.from({ length: fires }, (_, i) => occurrenceId(jobId, first + i * everyMs))
      expect((await rowsOf(jobId)).map((row) => row.execution_id)).toEqual(ids)
    }
  })

  it.each([
    ['FORBID', [null, 'OVERLAP', 'OVERLAP']],
    ['QUEUE_ONE', [null, null, 'OVERLAP']],
    ['REPLACE', ['REPLACED', 'REPLACED', null]],
  ] as const)(
    'counts what it fires of a %s job in one call against the rest of that call',
    async (overlap, reasons) => {
      const { jobId, move, occurrences } = await planned({ overlap }, 3)
      await store.fireAs(store.led, [move], occurrences)
      expect((await rowsOf(jobId)).map((row) => row.reason)).toEqual(reasons)
      const places = (await store.unfinished(jobId)).map(({ place }) => place)
      expect(places).toEqual(overlap === 'QUEUE_ONE' ? ['ready', 'waiting'] : ['ready'])
    },
  )

  it('waits for no transaction in which a live execution is completing: what replaces it waits in its place', async () => {
    const slow = await planned({ overlap: 'REPLACE' })
    await store.fireAs(store.led, [slow.move], slow.occurrences)
    const live = (await store.lease(1_000)).find((lease) => lease.jobId === slow.jobId)!
    const client = await store.database.connect()
    await client.query('begin')
    await client.query(`select carillon.complete_in($1, $2, '1')`, [live.executionId, live.fence])
    expect((await store.fire([slow.jobId])).moved).toEqual([slow.jobId])
    await client.query('commit')
    client.release()
    expect((await store.unfinished(slow.jobId)).map(({ place }) => place)).toEqual(['running', 'waiting'])
    await store.settle([endOf(live, 'COMPLETED_IN_TRANSACTION')])
    expect((await store.unfinished(slow.jobId)).map(({ place }) => place)).toEqual(['retries'])
  })
})
