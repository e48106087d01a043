/** How workers announce themselves, begin, report and leave. */
import { setTimeout as after } from 'node:timers/promises'
import { defineHandler } from '@carillon/server'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes, testCarillon } from '../../support/carillon.ts'
import { until } from '../../support/until.ts'
import { startWorkerlessNode, type WorkerlessNode } from './workerless-node.ts'

let node: WorkerlessNode

beforeAll(async () => {
  node = await startWorkerlessNode()
})
afterAll(() => node[Symbol.asyncDispose]())

describe('a worker', () => {
  it('brings its pools with it, and may announce itself again with others', async () => {
    const pools = async () =>
      (await node.sql.query('select pool from carillon.pools order by pool')).rows.map((row) => row.pool)
    expect(await pools()).toEqual(['default'])
    const workerId = await node.register(['email', 'default'])
    expect(await pools()).toEqual(['default', 'email'])
    await node.engine.workerSessions.register({
      workerId,
      name: 'renamed',
      pools: [{ pool: 'etl', handlers: [], slots: 1 }],
    })
    expect(await pools()).toEqual(['default', 'email', 'etl'])
    const { rows } = await node.sql.query('select name, pools from carillon.workers where worker_id = $1', [workerId])
    expect(rows).toEqual([{ name: 'renamed', pools: [{ pool: 'etl', handlers: [], slots: 1 }] }])
  })

  it('that leaves hands back what it held, no attempt used', async () => {
    const [leaving, staying] = [await node.register(), await node.register()]
    const held = [await node.held(leaving), await node.held(leaving)]
    const other = await node.held(staying)
    await node.engine.workerSessions.deregister(leaving)
    const { rowCount } = await node.sql.query('select from carillon.workers where worker_id = $1', [leaving])
    expect(rowCount).toBe(0)
    const again = new Set<string>()
    while (again.size < 2) for (const { executionId } of await node.lease(staying, 2)) again.add(executionId)
    expect(again).toEqual(new Set(held.map((h) => h.executionId)))
    for (const id of again) expect(await node.execution(id)).toMatchObject({ state: 'RUNNING', attempt: 1 })
    expect(await node.execution(other.executionId)).toMatchObject({ workerId: staying, fence: other.fence })
    await node.engine.workerSessions.deregister(staying)
  })

  it('may begin what it holds and nothing else', async () => {
    const worker = await node.register()
    const held = await node.held(worker, { delivery: 'AT_MOST_ONCE' })
    const old = { ...held, fence: held.fence - 1 }
    expect((await node.report(worker, { began: [old] })).began).toEqual(['REFUSED'])
    expect((await node.report(worker, { began: [held] })).began).toEqual(['ACCEPTED'])
    await node.engine.workerSessions.deregister(worker)
  })

  it('gets the same answer to the same report, and a refusal of what is not its own', async () => {
    const worker = await node.register()
    const held = await node.held(worker)
    const done = { ...held, startedAt: null, finishedAt: Date.now(), outcome: 'SUCCEEDED' } as const
    const said = async (fence: number, result: string) =>
      (await node.report(worker, { outcomes: [{ ...done, fence, result }] })).outcomes
    expect(await said(held.fence, '1')).toEqual(['ACCEPTED'])
    expect(await said(held.fence, '1')).toEqual(['ACCEPTED'])
    expect(await said(held.fence - 1, '2')).toEqual(['REFUSED'])
    expect(await node.execution(held.executionId)).toMatchObject({ state: 'SUCCEEDED', result: '1' })
    const { rows } = await node.sql.query(`select actor, detail from carillon.audit where subject = $1`, [
      held.executionId,
    ])
    expect(rows).toMatchObject([{ actor: `worker:${worker}`, detail: { fence: held.fence - 1 } }])
  })
})

describe('with no signal getting through', () => {
  const patient = defineHandler<unknown>({ name: 'patient' })

  it('a running handler hears of a cancel within a heartbeat, and goes on living when it was forgotten', async () => {
    const began: string[] = []
    await using test = await testCarillon((carillon) => {
      carillon.handle(patient, async (ctx) => {
        began.push(ctx.executionId)
        await after(60_000, undefined, { signal: ctx.signal, ref: false })
      })
    }, quickTimes)
    const handle = await test.carillon.enqueue(patient, {}, { cancelGraceSec: 60 })
    await until(() => began.includes(handle.executionId))
    const sql = new pg.Pool({ connectionString: test.databaseUrl })
    sql.on('error', () => {})
    await using _ = { [Symbol.asyncDispose]: () => sql.end() }
    // Two: the handlers' worker and the one of the built-in targets.
    const { rowCount: forgotten } = await sql.query('delete from carillon.workers')
    await until(async () => (await sql.query('select from carillon.workers')).rowCount === forgotten)
    // Flagged in the database, and nobody is told.
    await sql.query(`select carillon.cancel(array[$1::uuid], 'CANCELLED', 'a person')`, [handle.executionId])
    expect(await handle.ended({ waitMs: 10_000 })).toMatchObject({ state: 'CANCELLED' })
  })
})
