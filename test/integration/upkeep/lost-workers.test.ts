/** What becomes of executions whose worker is not heard of any more. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { beginHandlers } from '../../../packages/server/src/store/executions/worker-news.ts'
import { forgetNodes } from '../../../packages/server/src/store/shards/claim.ts'
import { endOf } from '../../support/store.ts'
import { atOnce, lostMs, openSwept, type Swept } from './swept.ts'

let swept: Swept

beforeAll(async () => {
  swept = await openSwept()
})
afterAll(() => swept[Symbol.asyncDispose]())

describe('the executions of a lost worker', () => {
  it('are tried again elsewhere, an attempt is used, and the late report is refused and recorded', async () => {
    const [lost, other] = [await swept.worker(), await swept.worker()]
    const held = await swept.leased(lost)
    await swept.silence(lost, lostMs - 5_000)
    await swept.sweep()
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'RUNNING', attempt: 1 })
    await swept.silence(lost, 6_000)
    await swept.sweep()
    expect(await swept.execution(held.executionId)).toMatchObject({
      state: 'WORKER_LOST',
      attempt: 1,
      history: [{ to: 'WORKER_LOST', actor: 'sweeper', attempt: 1, workerId: lost }],
    })
    const again = await swept.leasedAgain(other)
    expect(again).toMatchObject({ executionId: held.executionId, attempt: 2 })
    expect(again.fence).toBeGreaterThan(held.fence)
    expect((await swept.store.report([endOf(held)])).verdicts).toEqual(['REFUSED'])
    const audit = await swept.query(`select detail from carillon.audit where subject = $1`, [held.executionId])
    expect(audit).toEqual([{ detail: { fence: held.fence, outcome: 'SUCCEEDED', currentFence: again.fence } }])
    expect((await swept.store.report([endOf(again)])).verdicts).toEqual(['ACCEPTED'])
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'SUCCEEDED', attempt: 2 })
  })

  it('lose no attempt if their handler never began, three times at most', async () => {
    await swept.store.submit(1, atOnce)
    let executionId = ''
    for (let times = 1; times <= 4; times++) {
      const lost = await swept.worker()
      const held = await swept.leasedAgain(lost, true)
      executionId = held.executionId
      expect(held.attempt).toBe(1)
      await swept.silence(lost, lostMs + 1)
      await swept.sweep()
      const free = times <= 3
      expect(await swept.execution(executionId)).toMatchObject({
        state: free ? 'PENDING' : 'WORKER_LOST',
        attempt: free ? 0 : 1,
      })
    }
    const again = await swept.leasedAgain(await swept.worker())
    expect(again).toMatchObject({ executionId, attempt: 2 })
    await swept.store.report([endOf(again)])
  })

  it('that began meanwhile lose one', async () => {
    const lost = await swept.worker()
    const held = await swept.leased(lost, { retryPolicy: { maxAttempts: 1 } }, true)
    await beginHandlers(swept.store.database, [held])
    await swept.silence(lost, lostMs + 1)
    await swept.sweep()
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'DEAD', reason: 'ATTEMPTS_USED_UP' })
  })

  it('AT_MOST_ONCE: begun, the outcome is unknown and it is dead; not begun, it runs again', async () => {
    const lost = await swept.worker()
    const policy = { ...atOnce, delivery: 'AT_MOST_ONCE' } as const
    const [begun, waiting] = [await swept.leased(lost, policy), await swept.leased(lost, policy)]
    expect(await beginHandlers(swept.store.database, [begun])).toEqual(new Set([begun.executionId]))
    await swept.silence(lost, lostMs + 1)
    await swept.sweep()
    expect(await swept.execution(begun.executionId)).toMatchObject({ state: 'DEAD', reason: 'OUTCOME_UNKNOWN' })
    expect(await swept.execution(waiting.executionId)).toMatchObject({ state: 'PENDING', attempt: 0 })
    const again = await swept.leasedAgain(await swept.worker())
    expect(again).toMatchObject({ executionId: waiting.executionId, attempt: 1 })
    await swept.store.report([endOf(again)])
  })

  it('have succeeded if the handler’s own transaction completed them', async () => {
    const lost = await swept.worker()
    const held = await swept.leased(lost)
    await swept.query(`select carillon.complete_in($1, $2, $3)`, [held.executionId, held.fence, '"kept"'])
    await swept.silence(lost, lostMs + 1)
    await swept.sweep()
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'SUCCEEDED', result: '"kept"', attempt: 1 })
  })

  it('are found too when the worker is not even known any more', async () => {
    const gone = await swept.worker()
    const held = await swept.leased(gone)
    await swept.query('delete from carillon.workers where worker_id = $1', [gone])
    await swept.age(lostMs - 5_000)
    await swept.sweep()
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'RUNNING' })
    await swept.age(6_000)
    await swept.sweep()
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'WORKER_LOST' })
  })

  it('are found though looks take so long that they are seldom, which is no gap in the watching', async () => {
    const lost = await swept.worker()
    const held = await swept.leased(lost)
    swept.lookMs = 125
    await swept.sweep({ sparing: true })
    swept.lookMs = 0
    await swept.silence(lost, lostMs + 1)
    for (let second = 1; second <= 2; second++) {
      swept.now += 1_000
      await swept.sweep({ sparing: true })
      expect(await swept.execution(held.executionId)).toMatchObject({ state: 'RUNNING' })
    }
    swept.now += 1_000
    await swept.sweep({ sparing: true })
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'WORKER_LOST' })
  })

  it('are found within 5 s of the time after which a worker is lost, though one look took seconds', async () => {
    const lost = await swept.worker()
    const held = await swept.leased(lost)
    swept.lookMs = 3_600
    await swept.sweep({ sparing: true })
    swept.lookMs = 0
    await swept.silence(lost, lostMs + 1)
    for (let second = 1; second <= 4; second++) {
      swept.now += 1_000
      await swept.sweep({ sparing: true })
    }
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'WORKER_LOST' })
  })
})

it('workers and nodes that are gone are forgotten, the others are not', async () => {
  const [silent, heard] = [await swept.worker(), await swept.worker()]
  await swept.silence(silent, lostMs + 1)
  await swept.sweep()
  const known = await swept.query<{ worker_id: string }>('select worker_id from carillon.workers')
  expect(known.map((row) => row.worker_id)).toContain(heard)
  expect(known.map((row) => row.worker_id)).not.toContain(silent)
  await swept.query(`insert into carillon.nodes (node_id, name, lease_until) values
    (gen_random_uuid(), 'long gone', now() - interval '61 min'), (gen_random_uuid(), 'just gone', now() - interval '59 min')`)
  await forgetNodes(swept.store.database)
  expect((await swept.query('select name from carillon.nodes order by name')).map((row) => row.name)).toEqual([
    'just gone',
    'leader',
  ])
})
