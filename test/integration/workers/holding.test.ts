/** Both sides agree on what a worker holds, whatever was lost on the way between them. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../../packages/server/src/domain/identity.ts'
import { cancel } from '../../../packages/server/src/store/executions/cancel.ts'
import { until } from '../../support/until.ts'
import { startWorkerlessNode, type WorkerlessNode } from './workerless-node.ts'

let node: WorkerlessNode

beforeAll(async () => {
  node = await startWorkerlessNode()
})
afterAll(() => node[Symbol.asyncDispose]())

describe('a heartbeat', () => {
  it('that leaves an execution out twice in a row hands it back, no attempt used', async () => {
    const worker = await node.register()
    const held = await node.held(worker)
    await node.heartbeat(worker, [])
    await node.heartbeat(worker, [held])
    await node.heartbeat(worker, [])
    expect(await node.execution(held.executionId)).toMatchObject({ state: 'RUNNING', fence: held.fence })
    await node.heartbeat(worker, [])
    const [again] = await node.lease(worker)
    expect(again).toMatchObject({ executionId: held.executionId, attempt: 1 })
    expect(again!.fence).toBeGreaterThan(held.fence)
    expect((await node.execution(held.executionId)).history).toMatchObject([
      { to: 'HANDED_BACK', reason: 'NOT_NAMED', fence: held.fence },
    ])
    await succeed(worker, again!)
  })

  it('that leaves an execution out hands it back soon, also after one look took seconds', async () => {
    const worker = await node.register()
    const held = await node.held(worker)
    await node.report(worker, { held: [held] })
    node.now += node.engine.workerSessions.times.heartbeatEveryMs
    node.lookMs = 3_600
    await node.engine.workerSessions.compareHeldSparingly()
    node.lookMs = 1
    for (let looks = 0; looks < 2; looks++) {
      await node.report(worker, { held: [] })
      node.now += node.engine.workerSessions.times.heartbeatEveryMs
      await node.engine.workerSessions.compareHeldSparingly()
    }
    const [again] = await node.lease(worker)
    expect(again).toMatchObject({ executionId: held.executionId, attempt: 1 })
    await succeed(worker, again!)
  })

  it('leaves nothing out that it tells the outcome of, though that cannot be written yet', async () => {
    const worker = await node.register()
    const held = await node.held(worker, { retryPolicy: { maxAttempts: 1 } })
    const outcome = {
      ...held,
      startedAt: Date.now(),
      finishedAt: Date.now(),
      outcome: 'FAILED',
      error: { name: 'Error', message: 'no' },
    } as const
    const locker = new pg.Client({ connectionString: node.url })
    await locker.connect()
    await locker.query('begin')
    // As while it is being completed in a transaction.
    await locker.query('select from carillon.executions where execution_id = $1 for key share', [held.executionId])
    for (let times = 0; times < 3; times++) {
      expect((await node.heartbeat(worker, [], { outcomes: [outcome] })).outcomes).toEqual(['BUSY'])
    }
    await locker.query('rollback')
    await locker.end()
    expect((await node.heartbeat(worker, [], { outcomes: [outcome] })).outcomes).toEqual(['ACCEPTED'])
    expect(await node.execution(held.executionId)).toMatchObject({ state: 'DEAD', fence: held.fence })
  })

  it('that came before a lease says nothing about it, however long it takes to be compared', async () => {
    const worker = await node.register()
    const locker = new pg.Client({ connectionString: node.url })
    await locker.connect()
    await locker.query('begin')
    await locker.query('select from carillon.workers where worker_id = $1 for update', [worker])
    const early = node.heartbeat(worker, [])
    await until(async () => {
      const { rowCount } = await node.sql.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%carillon.workers%'`,
      )
      return rowCount! > 0
    })
    const held = await node.held(worker)
    await locker.query('rollback')
    await locker.end()
    await early
    await node.heartbeat(worker, [])
    expect(await node.execution(held.executionId)).toMatchObject({ state: 'RUNNING', fence: held.fence })
    await succeed(worker, held)
  })

  it('that is none says nothing about what is held', async () => {
    const worker = await node.register()
    const held = await node.held(worker)
    await node.heartbeat(worker, [])
    await node.report(worker, { held: null })
    await node.report(worker, { held: null })
    expect(await node.execution(held.executionId)).toMatchObject({ state: 'RUNNING', fence: held.fence })
    await succeed(worker, held)
  })

  it('that names an older lease of the same execution leaves the present one out', async () => {
    const worker = await node.register()
    const held = await node.held(worker)
    const old = { ...held, fence: held.fence - 1 }
    expect((await node.heartbeat(worker, [old])).lost).toMatchObject([{ fence: old.fence }])
    await node.heartbeat(worker, [old])
    const [again] = await node.lease(worker)
    expect(again).toMatchObject({ executionId: held.executionId })
    await succeed(worker, again!)
  })

  it('that names what is another’s, or nobody’s, is told that it is lost', async () => {
    const [worker, other] = [await node.register(), await node.register()]
    const [mine, theirs] = [await node.held(worker), await node.held(other)]
    const unknown = { executionId: newId(Date.now()), fence: 1 }
    const { lost } = await node.heartbeat(worker, [mine, theirs, unknown])
    expect(lost.map((l) => l.executionId)).toEqual([theirs.executionId, unknown.executionId])
    expect((await node.heartbeat(other, [theirs])).lost).toEqual([])
    await succeed(worker, mine)
    await succeed(other, theirs)
  })

  it('may name very many, and others who come at the same time are answered too', async () => {
    const [worker, other] = [await node.register(), await node.register()]
    const [mine, theirs] = [await node.held(worker), await node.held(other)]
    const unknown = Array.from({ length: 12_000 }, () => ({ executionId: newId(Date.now()), fence: 1 }))
    const [many, few] = await Promise.all([
      node.report(worker, { held: [...unknown, mine] }),
      node.report(other, { held: [theirs] }),
    ])
    expect(many.lost).toEqual(unknown)
    expect(few.lost).toEqual([])
    await succeed(worker, mine)
    await succeed(other, theirs)
  })

  it('brings the cancellations though no signal did', async () => {
    const worker = await node.register()
    const held = await node.held(worker)
    await cancel(node.engine.database, [held.executionId], { reason: 'CANCELLED', actor: 'a person' })
    const { cancellations } = await node.heartbeat(worker, [held])
    expect(cancellations).toEqual([{ executionId: held.executionId, fence: held.fence, reason: 'CANCELLED' }])
    const outcome = { ...held, startedAt: null, finishedAt: Date.now(), outcome: 'CANCELLED' } as const
    await node.report(worker, { outcomes: [outcome] })
    expect(await node.execution(held.executionId)).toMatchObject({ state: 'CANCELLED' })
  })

  it('registers a worker again that was taken for lost and removed', async () => {
    const worker = await node.register()
    await node.sql.query('delete from carillon.workers where worker_id = $1', [worker])
    await node.heartbeat(worker, [])
    expect(await known(worker)).toMatchObject({ name: 'by hand', pools: [{ pool: 'default' }] })
    await node.engine.workerSessions.deregister(worker)
    await node.heartbeat(worker, [])
    expect(await known(worker)).toBeUndefined()
  })

  it('shows that the worker lives', async () => {
    const worker = await node.register()
    await node.sql.query(`update carillon.workers set seen_at = seen_at - interval '1 hour' where worker_id = $1`, [
      worker,
    ])
    await node.heartbeat(worker, [])
    expect(Date.now() - (await known(worker)).seen_at.getTime()).toBeLessThan(60_000)
  })
})

describe('what may start only once', () => {
  it('is not handed back if its handler has begun since the node looked', async () => {
    const worker = await node.register()
    const held = await node.held(worker, { delivery: 'AT_MOST_ONCE' })
    const handBack = () =>
      node.engine.completion.end({
        ...{ executionId: held.executionId, fence: held.fence, actor: 'node', from: 'NODE' },
        said: { outcome: 'HANDED_BACK', reason: 'NOT_NAMED', began: false },
      })
    expect((await node.report(worker, { began: [held] })).began).toEqual(['ACCEPTED'])
    expect(await handBack()).toBe('BUSY')
    expect(await node.execution(held.executionId)).toMatchObject({ state: 'RUNNING', fence: held.fence })
    await succeed(worker, held)
  })
})

describe('a lease', () => {
  it('whose answer nobody waits for any more is handed back, no attempt used', async () => {
    const worker = await node.register()
    const executionId = await node.submit()
    // LEASE has begun when the worker goes, and is committed after that.
    const locker = new pg.Client({ connectionString: node.url })
    await locker.connect()
    await locker.query('begin')
    await locker.query('lock table carillon.ready in access exclusive mode')
    const gone = new AbortController()
    const leasing = node.lease(worker, 1, gone.signal)
    await until(async () => {
      const { rowCount } = await node.sql.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%carillon.lease_ready(%'`,
      )
      return rowCount! > 0
    })
    gone.abort()
    await locker.query('commit')
    await locker.end()
    expect(await leasing).toEqual([])
    const [again] = await node.lease(worker)
    expect(again).toMatchObject({ executionId, attempt: 1 })
    expect((await node.execution(executionId)).history).toMatchObject([{ to: 'HANDED_BACK', reason: 'UNDELIVERED' }])
    await succeed(worker, again!)
  })
})

async function succeed(worker: string, held: { executionId: string; fence: number }): Promise<void> {
  const outcome = { ...held, startedAt: null, finishedAt: Date.now(), outcome: 'SUCCEEDED', result: null } as const
  expect((await node.report(worker, { outcomes: [outcome] })).outcomes).toEqual(['ACCEPTED'])
}

async function known(workerId: string) {
  return (await node.sql.query('select * from carillon.workers where worker_id = $1', [workerId])).rows[0]
}
