/** Who gets no new leases: workers that nobody hears of while this node watches. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../../packages/server/src/domain/identity.ts'
import { KnownWorkers } from '../../../packages/server/src/workers/known-workers.ts'
import { startWorkerlessNode, type WorkerlessNode } from './workerless-node.ts'

let node: WorkerlessNode
let now = 1_000_000
let live: string[] = []

beforeAll(async () => {
  node = await startWorkerlessNode()
})
afterAll(() => node[Symbol.asyncDispose]())

function known(): KnownWorkers {
  live = []
  return new KnownWorkers({
    ...{
      database: node.engine.database,
      liveness: node.engine.liveness,
      maxPools: 100,
      nodeId: newId(1),
      heartbeatEveryMs: 5_000,
      suspectMs: 15_000,
      lostMs: 30_000,
    },
    onLive: ({ workerId }) => live.push(workerId),
    monotonic: () => now,
  })
}

async function register(workers: KnownWorkers): Promise<string> {
  const workerId = newId(Date.now())
  await workers.register({ workerId, name: 'w', pools: [{ pool: 'default', handlers: [], slots: 1 }] }, null)
  return workerId
}

/** Time passes, and this node looks after its workers all the while. */
async function watch(workers: KnownWorkers, ms: number): Promise<void> {
  for (const end = now + ms; now < end; now += workers.watchEveryMs) await workers.watch()
  await workers.watch()
}

async function silence(workerId: string, sec: number): Promise<void> {
  await node.sql.query(`update carillon.workers set seen_at = now() - $2 * interval '1 s' where worker_id = $1`, [
    workerId,
    sec,
  ])
}

describe('a worker', () => {
  it('that nobody hears of gets no leases, until it says anything at all', async () => {
    const workers = known()
    const [silent, other] = [await register(workers), await register(workers)]
    await watch(workers, 15_000)
    expect([workers.mayLease(silent), workers.mayLease(other)]).toEqual([true, true])
    await silence(silent, 16)
    await watch(workers, 3_000)
    expect([workers.mayLease(silent), workers.mayLease(other)]).toEqual([false, true])
    await workers.heard(silent, null)
    expect([workers.mayLease(silent), live]).toEqual([true, [silent]])
  })

  it('that another node heard of is live again at the next look', async () => {
    const workers = known()
    const silent = await register(workers)
    await watch(workers, 15_000)
    await silence(silent, 16)
    await watch(workers, 3_000)
    expect(workers.mayLease(silent)).toBe(false)
    await silence(silent, 1)
    await watch(workers, 3_000)
    expect([workers.mayLease(silent), live]).toEqual([true, [silent]])
  })

  it('is not blamed for a time in which this node did not look', async () => {
    const workers = known()
    const silent = await register(workers)
    await watch(workers, 15_000)
    await silence(silent, 30)
    now += 30_000
    await watch(workers, 12_000)
    expect(workers.mayLease(silent)).toBe(true)
    await watch(workers, 6_000)
    expect(workers.mayLease(silent)).toBe(false)
  })

  it('that is gone from the database is suspect too, and comes back with its next word', async () => {
    const workers = known()
    const lost = await register(workers)
    await watch(workers, 15_000)
    await node.sql.query('delete from carillon.workers where worker_id = $1', [lost])
    await watch(workers, 3_000)
    expect(workers.mayLease(lost)).toBe(false)
    await workers.heard(lost, null)
    expect(workers.mayLease(lost)).toBe(true)
    expect(await workers.find(lost, null)).toMatchObject({ registration: { name: 'w' }, suspect: false })
  })

  it('of one owner cannot be kept alive by another', async () => {
    const workers = known()
    const silent = await register(workers)
    await watch(workers, 15_000)
    await silence(silent, 16)
    await watch(workers, 3_000)
    await workers.heard(silent, 'acme')
    expect([workers.mayLease(silent), await workers.find(silent, 'acme')]).toEqual([false, null])
  })

  it('that has not turned to this node for long is forgotten here, and found again in the database', async () => {
    const workers = known()
    const quiet = await register(workers)
    await watch(workers, 93_000)
    expect(workers.poolsOf(quiet, null)).toEqual([])
    expect(await workers.find(quiet, null)).toMatchObject({ registration: { workerId: quiet } })
    expect(workers.poolsOf(quiet, null)).toEqual(['default'])
  })
})
