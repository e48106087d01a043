/** Times that come though nobody reports: timeouts, silence, the grace after a cancel, start windows, deadlines. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cancel } from '../../../packages/server/src/store/executions/cancel.ts'
import { storeProgress } from '../../../packages/server/src/store/executions/worker-news.ts'
import { endOf } from '../../support/store.ts'
import { atOnce, lostMs, openSwept, type Swept, watching } from './swept.ts'

let swept: Swept
let worker: string

beforeAll(async () => {
  swept = await openSwept()
  worker = await swept.worker()
})
afterAll(() => swept[Symbol.asyncDispose]())

describe('the sweeper', () => {
  it('ends an attempt past its time in its worker’s place, grace included', async () => {
    const held = await swept.leased(worker, { ...atOnce, timeoutSec: 60, cancelGraceSec: 5 })
    await swept.age(64_000)
    await swept.sweep()
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'RUNNING' })
    await swept.age(2_000)
    await swept.sweep()
    expect(await swept.execution(held.executionId)).toMatchObject({
      state: 'TIMED_OUT',
      attempt: 1,
      history: [{ to: 'TIMED_OUT', actor: 'sweeper' }],
    })
    expect((await swept.store.report([endOf(held)])).verdicts).toEqual(['REFUSED'])
    await done(await swept.leasedAgain(worker))
  })

  it('ends a handler that is silent for too long though its worker lives', async () => {
    const held = await swept.leased(worker, { ...atOnce, heartbeatTimeoutSec: 10 })
    await swept.age(9_000)
    await storeProgress(swept.store.database, [{ ...held, progress: '1' }])
    await swept.age(9_000)
    await swept.sweep()
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'RUNNING', progress: '1' })
    await swept.age(2_000)
    await swept.sweep()
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'TIMED_OUT', progress: '1' })
    const again = await swept.leasedAgain(worker)
    expect(again.lastProgress).toBe(1)
    await done(again)
  })

  it('does not take for silent what has not begun', async () => {
    const held = await swept.leased(worker, { heartbeatTimeoutSec: 10 }, true)
    await swept.age(11_000)
    await swept.sweep()
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'RUNNING' })
    await done(held)
  })

  it('ends a cancelled execution after the grace whether or not the handler co-operates', async () => {
    const held = await swept.leased(worker, { cancelGraceSec: 5 })
    const [flagged] = await cancel(swept.store.database, [held.executionId], { reason: 'CANCELLED', actor: 'a person' })
    expect(flagged).toMatchObject({ verdict: 'FLAGGED', workerId: worker, fence: held.fence })
    await swept.sweep()
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'RUNNING' })
    await swept.age(6_000)
    await swept.sweep()
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'CANCELLED', reason: 'CANCELLED' })
    expect((await swept.store.report([endOf(held)])).verdicts).toEqual(['REFUSED'])
  })

  it('skips what nobody started within its window', async () => {
    const [late] = await swept.store.submit(1, { startWithinSec: 10 })
    await swept.age(9_000)
    await swept.sweep()
    expect(await swept.execution(late!)).toMatchObject({ state: 'PENDING' })
    await swept.age(2_000)
    await swept.sweep()
    expect(await swept.execution(late!)).toMatchObject({ state: 'SKIPPED', reason: 'EXPIRED', attempt: 0 })
    expect(await swept.lease(worker)).toBeUndefined()
    expect(await ending(late!)).toBe('SKIPPED')
  })

  it('leaves alone what was leased within its window, though it was handed back', async () => {
    const held = await swept.leased(worker, { startWithinSec: 10 })
    await swept.store.report([endOf(held, 'HANDED_BACK', { reason: 'SHUTDOWN' })])
    await swept.age(11_000)
    await swept.sweep()
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'PENDING', attempt: 0 })
    await done(await swept.leasedAgain(worker))
  })

  it('ends what is pending at its deadline, and tells what runs to stop', async () => {
    const running = await swept.leased(worker, { ...atOnce, deadlineSec: 10, cancelGraceSec: 5 })
    const [pending] = await swept.store.submit(1, { deadlineSec: 10 })
    await swept.age(11_000)
    await swept.sweep()
    expect(await swept.execution(pending!)).toMatchObject({ state: 'DEAD', reason: 'DEADLINE' })
    expect(await ending(pending!)).toBe('DEAD')
    expect(await swept.execution(running.executionId)).toMatchObject({ state: 'RUNNING' })
    await swept.age(6_000)
    await swept.sweep()
    expect(await swept.execution(running.executionId)).toMatchObject({ state: 'DEAD', reason: 'DEADLINE', attempt: 1 })
  })

  it('is not held up by an execution that its handler’s own transaction has locked', async () => {
    const [locked, other] = [await swept.leased(worker), await swept.leased(worker)]
    const lost = await swept.worker()
    const stray = await swept.leased(lost)
    const handler = new pg.Client({ connectionString: swept.store.url })
    await handler.connect()
    await handler.query('begin')
    await handler.query(`select carillon.complete_in($1, $2, $3)`, [locked.executionId, locked.fence, '1'])
    await swept.query(`update carillon.leases set overdue_at = now() - interval '1 s' where lease_id = $1`, [
      Math.floor(other.fence / 1024),
    ])
    await swept.query(`insert into carillon.deadlines (execution_id, kind, due) values ($1, 'FINISH', now())`, [
      locked.executionId,
    ])
    await swept.silence(lost, lostMs + 1)
    await swept.sweep()
    expect(await swept.execution(other.executionId)).toMatchObject({ state: 'TIMED_OUT' })
    expect(await swept.execution(stray.executionId)).toMatchObject({ state: 'WORKER_LOST' })
    await handler.query('commit')
    await handler.end()
    await swept.age(1_000_000)
    await swept.sweep()
    expect(await swept.execution(locked.executionId)).toMatchObject({ state: 'SUCCEEDED', result: '1' })
  })
})

describe('after a gap in the watching', () => {
  it('no worker is taken for lost before its full time has passed again', async () => {
    const silent = await swept.worker()
    const held = await swept.leased(silent)
    swept.now += 4_000
    await swept.silence(silent, lostMs + 1)
    await swept.sweep()
    await swept.watch(lostMs - 1)
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'RUNNING' })
    await swept.watch(1)
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'WORKER_LOST' })
  })

  it('that is short, where a worker is given only a short time, the same holds', async () => {
    const hasty = await watching(swept.store, { lostMs: 1_000, everyMs: 50 })
    const silent = await hasty.worker()
    const held = await hasty.leased(silent)
    hasty.now += 500
    await hasty.silence(silent, 1_001)
    await hasty.sweep()
    await hasty.watch(999)
    expect(await hasty.execution(held.executionId)).toMatchObject({ state: 'RUNNING' })
    await hasty.watch(1)
    expect(await hasty.execution(held.executionId)).toMatchObject({ state: 'WORKER_LOST' })
  })

  it('no handler is taken for silent before its full time has passed again', async () => {
    const held = await swept.leased(worker, { ...atOnce, heartbeatTimeoutSec: 10 })
    swept.now += 20_000
    await swept.age(20_000)
    await swept.sweep()
    await swept.watch(9_999)
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'RUNNING' })
    await swept.watch(1)
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'TIMED_OUT' })
  })

  it('what ended meanwhile can be reported before it is taken for overdue', async () => {
    const held = await swept.leased(worker, { timeoutSec: 10, cancelGraceSec: 0 })
    swept.now += 20_000
    await swept.age(20_000)
    await swept.sweep()
    await swept.watch(4_999)
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'RUNNING' })
    await done(held)
  })
})

async function done(held: { executionId: string; fence: number }): Promise<void> {
  expect((await swept.store.report([endOf(held)])).verdicts).toEqual(['ACCEPTED'])
}

async function ending(executionId: string): Promise<string | undefined> {
  const rows = await swept.query<{ state: string }>('select state from carillon.endings where execution_id = $1', [
    executionId,
  ])
  return rows[0]?.state
}
