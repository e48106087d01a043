/** Cancel wherever the row stands, replay, repeated and stale reports, and the audit that keeps them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { firstIdAt, timeOf } from '../../../packages/server/src/domain/identity.ts'
import { cancel } from '../../../packages/server/src/store/executions/cancel.ts'
import { readRules } from '../../../packages/server/src/store/executions/read-rules.ts'
import { replay } from '../../../packages/server/src/store/executions/replay.ts'
import type { AttemptEnd } from '../../../packages/server/src/store/executions/report.ts'
import { raiseFloor } from '../../../packages/server/src/store/partitions/manage.ts'
import { expireDue } from '../../../packages/server/src/store/workers/sweep.ts'
import { endOf, openStore, type TestStore, tenant } from '../../support/store.ts'

const why = { reason: 'ASKED', actor: 'alice' }

describe('an execution', () => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore()
  })
  afterAll(async () => {
    await store.assertOnePlace()
    await store[Symbol.asyncDispose]()
  })

  const stateOf = async (id: string) => {
    const rows = await store.database.query<{ state: string | null; reason: string | null; attempt: number }>(
      null,
      'select state, reason, attempt from carillon.executions where execution_id = $1',
      [id],
    )
    return rows[0]!
  }
  const verdictOf = async (id: string) => (await cancel(store.database, [id], why))[0]!.verdict
  const replayed = async (id: string) => (await replay(store.database, [id], 'alice'))[0]!.verdict
  const reported = async (end: AttemptEnd) => (await store.report([end])).verdicts[0]!
  async function leased(policy: Parameters<TestStore['submit']>[1] = null) {
    await store.submit(1, policy)
    return (await store.lease(1))[0]!
  }
  async function dead() {
    const held = await leased()
    await store.report([endOf(held, 'FAILED', { next: 'DEAD', reason: 'NOT_RETRYABLE' })])
    return held
  }

  it('is cancelled where it stands while PENDING: ready, waiting for a retry, waiting for its job', async () => {
    const [ready] = await store.submit(1)
    expect(await verdictOf(ready!)).toBe('CANCELLED')
    const held = await leased()
    await store.report([endOf(held, 'FAILED')])
    expect(await verdictOf(held.executionId)).toBe('CANCELLED')
    const job = await store.job({ overlap: 'QUEUE_ONE' })
    const live = await store.trigger(job)
    const waits = await store.trigger(job)
    expect(waits.verdict).toBe('WAIT')
    expect(await verdictOf(waits.executionId)).toBe('CANCELLED')
    expect(await verdictOf(live.executionId)).toBe('CANCELLED')
    for (const id of [ready!, held.executionId, waits.executionId, live.executionId]) {
      expect(await stateOf(id)).toMatchObject({ state: 'CANCELLED', reason: 'ASKED' })
      expect(await verdictOf(id)).toBe('ENDED')
    }
    expect(await verdictOf('00000000-0000-8000-8000-000000000000')).toBe('UNKNOWN')
    expect(await store.lease(10)).toEqual([])
  })

  it('that runs is flagged; a success stays one, anything else is CANCELLED, silence is ended by the sweeper', async () => {
    const [good, bad, mute] = [await leased(), await leased(), await leased({ cancelGraceSec: 0 })]
    for (const held of [good, bad, mute]) {
      expect(await cancel(store.database, [held.executionId], why)).toEqual([
        { executionId: held.executionId, verdict: 'FLAGGED', workerId: store.workerId, fence: held.fence },
      ])
    }
    expect(await reported(endOf(good))).toBe('ACCEPTED')
    expect(await stateOf(good.executionId)).toMatchObject({ state: 'SUCCEEDED', attempt: 1 })
    expect(await reported(endOf(bad, 'FAILED'))).toBe('ACCEPTED')
    expect(await stateOf(bad.executionId)).toMatchObject({ state: 'CANCELLED', reason: 'ASKED', attempt: 1 })
    await store.sweeper().runOnce()
    expect(await stateOf(mute.executionId)).toMatchObject({ state: 'CANCELLED', reason: 'ASKED' })
    expect(await reported(endOf(mute))).toBe('REFUSED')
  })

  it('is cancelled as soon as its worker’s open transaction lets go of it, not before', async () => {
    const held = await leased()
    const client = await store.database.connect()
    await client.query('begin')
    await client.query(`select carillon.complete_in($1, $2, '"done"')`, [held.executionId, held.fence])
    const cancelled = cancel(store.database, [held.executionId], why)
    expect(await reported(endOf(held, 'FAILED'))).toBe('BUSY')
    await client.query('commit')
    client.release()
    expect((await cancelled)[0]!.verdict).toBe('FLAGGED')
    expect(await reported(endOf(held, 'COMPLETED_IN_TRANSACTION'))).toBe('ACCEPTED')
    expect(await stateOf(held.executionId)).toMatchObject({ state: 'SUCCEEDED' })
  })

  it('that is dead or cancelled comes back by replay, with all its attempts and without its old deadlines', async () => {
    const one = await dead()
    const other = await leased({ startWithinSec: 1, deadlineSec: 1 })
    await cancel(store.database, [other.executionId], why)
    await store.report([endOf(other, 'CANCELLED')])
    for (const { executionId } of [one, other]) {
      expect(await replayed(executionId)).toBe('REPLAYED')
      expect(await replayed(executionId)).toBe('NOT_ENDED')
      expect(await stateOf(executionId)).toEqual({ state: null, reason: null, attempt: 0 })
    }
    await store.database.query(null, `update carillon.deadlines set due = now() - interval '1 hour'`)
    await expireDue(store.database, 100)
    expect((await store.fireReturns()).toSorted()).toEqual([one.executionId, other.executionId].toSorted())
    const again = await store.lease(10)
    for (const held of again) {
      expect(held).toMatchObject({ attempt: 1, deadlineAt: null })
      expect(held.fence).toBeGreaterThan(Math.max(one.fence, other.fence))
    }
    await store.settle(again.map((held) => endOf(held)))
    expect(await replayed(one.executionId)).toBe('NOT_ENDED')
  })

  it('of a job that limits overlap is not replayed while another is unfinished, even if it was fired before', async () => {
    const job = await store.job()
    const first = await store.trigger(job)
    await cancel(store.database, [first.executionId], why)
    await store.database.query(null, `update carillon.jobs set overlap = 'FORBID' where job_id = $1`, [job])
    const live = await store.trigger(job)
    expect(await replayed(first.executionId)).toBe('OVERLAP')
    await cancel(store.database, [live.executionId], why)
    expect(await replayed(first.executionId)).toBe('REPLAYED')
    expect((await store.trigger(job)).verdict).toBe('SKIP')
    await cancel(store.database, [first.executionId], why)
  })

  it('gets the first answer again for a report whose answer was lost, whatever happened since', async () => {
    const [success, failure, back] = [await leased(), await leased(), await leased()]
    const ends = [endOf(success), endOf(failure, 'FAILED'), endOf(back, 'HANDED_BACK', { reason: 'DRAIN' })]
    for (const end of [...ends, ...ends]) expect(await reported(end)).toBe('ACCEPTED')
    await store.fireReturns()
    const again = await store.lease(10)
    expect(again).toHaveLength(2)
    for (const end of ends) expect(await reported(end)).toBe('ACCEPTED')
    await store.settle(again.map((held) => endOf(held)))
    for (const end of ends) expect(await reported(end)).toBe('ACCEPTED')
    expect(await stateOf(failure.executionId)).toMatchObject({ state: 'SUCCEEDED', attempt: 2 })
    expect(await stateOf(back.executionId)).toMatchObject({ state: 'SUCCEEDED', attempt: 1 })
  })

  it('that was completed although its handler threw afterwards gets the first answer again too', async () => {
    const held = await leased()
    await store.database.query(null, 'select carillon.complete_in($1, $2, $3)', [held.executionId, held.fence, '1'])
    const end = endOf(held, 'FAILED')
    for (const answer of [await reported(end), await reported(end)]) expect(answer).toBe('ACCEPTED')
    expect(await stateOf(held.executionId)).toMatchObject({ state: 'SUCCEEDED', attempt: 1 })
  })

  it('has a new life after a replay: what happened in the one before does not count', async () => {
    const rulesOf = async (id: string) => (await readRules(store.database, [id])).get(id)
    const [first] = await store.submit(1)
    const backAgain = async (reason: string, next: 'RETRY' | 'DEAD') => {
      const [held] = await store.lease(1)
      await store.report([endOf(held!, 'HANDED_BACK', { reason, next, retryAt: next === 'DEAD' ? null : 1 })])
      await store.fireReturns()
    }
    await backAgain('WORKER_LOST', 'RETRY')
    await backAgain('UNKNOWN_HANDLER', 'DEAD')
    expect(await rulesOf(first!)).toMatchObject({ freeReturns: 1, unknownHandlerSince: expect.any(Number) })
    await replayed(first!)
    expect(await rulesOf(first!)).toMatchObject({ freeReturns: 0, unknownHandlerSince: null })
    await store.fireReturns()
    await backAgain('WORKER_LOST', 'RETRY')
    expect(await rulesOf(first!)).toMatchObject({ freeReturns: 1, unknownHandlerSince: null })
    await cancel(store.database, [first!], why)
  })

  it('is not touched by a report with an old fence, which is put on record', async () => {
    const old = await leased({ retryPolicy: { initialDelayMs: 0 } })
    await store.sweeper().runOnce()
    while ((await store.fireReturns()).length === 0); // due in this very millisecond
    const current = (await store.lease(1))[0]!
    const before = await stateOf(old.executionId)
    expect(await reported(endOf(old, 'SUCCEEDED', { result: '1', actor: 'worker w' }))).toBe('REFUSED')
    expect(await stateOf(old.executionId)).toEqual(before)
    const audit = await store.database.query(
      null,
      'select tenant, actor, action, detail from carillon.audit where subject = $1',
      [old.executionId],
    )
    const detail = { fence: old.fence, outcome: 'SUCCEEDED', currentFence: current.fence }
    expect(audit).toEqual([{ tenant, actor: 'worker w', action: 'execution.report_refused', detail }])
    await store.settle([endOf(current)])
    for (const sql of [
      'update carillon.audit set actor = null',
      'delete from carillon.audit',
      'truncate carillon.audit',
    ]) {
      await expect(store.database.query(null, sql), sql).rejects.toThrow('append-only')
    }
  })

  it('below the floor is not replayed: its partition is going', async () => {
    const { executionId } = await dead()
    await raiseFloor(store.database, firstIdAt(timeOf(executionId) + 1))
    expect(await replayed(executionId)).toBe('TOO_OLD')
    expect(await stateOf(executionId)).toMatchObject({ state: 'DEAD' })
  })
})
