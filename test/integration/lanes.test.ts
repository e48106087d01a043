/** The real LEASE beside the model that the property tests of the lanes use. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newId, submissionId } from '../../packages/server/src/domain/identity.ts'
import { monotonicMs } from '../../packages/server/src/lib/clock.ts'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import { LaneTurns, laneTurn } from '../../packages/server/src/queue/lane-turns.ts'
import { countLanes, leaseLanes } from '../../packages/server/src/queue/lease-lanes.test-support.ts'
import { Database } from '../../packages/server/src/store/database.ts'
import { lease, leasedExecutions } from '../../packages/server/src/store/executions/lease.ts'
import { submit } from '../../packages/server/src/store/executions/submit.ts'
import { migrate } from '../../packages/server/src/store/migrate.ts'
import { Partitioner } from '../../packages/server/src/upkeep/partitioner.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'

const workerId = newId(1)
let home: TestDatabase
let database: Database
let nextTag = 1

beforeAll(async () => {
  home = await createDatabase()
  database = new Database({ url: home.url, maxConnections: 2, statementTimeoutMs: 20_000, applicationName: 'test' })
  await migrate(database, { shardCount: 4, partitionHours: 24, retentionDays: 30 })
  await new Partitioner({ database, clock: { now: monotonicMs }, logger: createLogger('silent') }).createMissing()
})
afterAll(async () => {
  await database.end()
  await home.drop()
})
beforeEach(() => database.query(null, 'delete from carillon.ready'))

/** Puts so many executions into each lane. */
async function fill(waiting: number[]): Promise<void> {
  const runAt = Math.floor(monotonicMs())
  const items = waiting.flatMap((count, lane) =>
    Array.from({ length: count }, () => ({
      ...{ executionId: submissionId(runAt), tenant: 'acme', name: null, pool: 'default', lane, handler: 'h', runAt },
      ...{ payload: null, policy: null, labels: null, traceparent: null },
    })),
  )
  if (items.length > 0) {
    await submit(
      database,
      items,
      items.map(() => nextTag++),
    )
  }
}

async function leaseOnce(turns: LaneTurns, slots: number): Promise<number[]> {
  const reading = { from: [0, 0, 0, 0], since: turns.since, turn: laneTurn }
  const free = Array.from({ length: slots }, () => ({ workerId, prefetched: false }))
  const leased = await lease(database, 'default', reading, free)
  const lanes = leased.flatMap(({ lane, count }) => Array.from({ length: count }, () => lane))
  turns.leased(countLanes(lanes))
  return lanes.sort()
}

describe('LEASE', () => {
  it('takes of each lane what the model takes, call after call', async () => {
    const turns = new LaneTurns()
    const modelTurns = new LaneTurns()
    const waiting = [0, 0, 0, 0]
    // A fixed mixture: empty lanes, few slots and many, lanes that come back.
    for (let call = 0; call < 60; call++) {
      const arrivals = [
        (call * 7) % 13,
        call % 3 === 0 ? 5 : 0,
        call % 5 === 0 ? 4 : 0,
        call === 20 || call === 21 ? 9 : 0,
      ]
      arrivals.forEach((count, lane) => {
        waiting[lane]! += count
      })
      await fill(arrivals)
      const slots = 1 + ((call * 11) % 23)
      const expected = leaseLanes(waiting, modelTurns.since, slots)
      modelTurns.leased(countLanes(expected))
      expect(await leaseOnce(turns, slots), `call ${call}`).toEqual(expected.sort())
    }
  })

  it('gives HIGH its turn beside CRITICAL though LOW, which would be next, is empty', async () => {
    const turns = new LaneTurns()
    await fill([0, 40, 0, 0])
    for (let i = 0; i < 40; i++) await leaseOnce(turns, 1)
    await fill([60, 60, 0, 0])
    const lanes = []
    for (let i = 0; i < 40; i++) lanes.push(...(await leaseOnce(turns, 1)))
    expect(lanes.filter((lane) => lane === 1).length).toBeGreaterThanOrEqual(2)
    expect(lanes.filter((lane) => lane === 0).length).toBeGreaterThanOrEqual(37)
  })

  it('takes within a lane the smallest tags first', async () => {
    await fill([30, 0, 0, 0])
    const reading = { from: [0, 0, 0, 0], since: [0, 0, 0, 0], turn: laneTurn }
    const tags: number[] = []
    for (let i = 0; i < 6; i++) {
      const free = Array.from({ length: 5 }, () => ({ workerId, prefetched: false }))
      const leased = await lease(database, 'default', reading, free)
      const ids = leased.flatMap(({ executions }) => leasedExecutions(executions)).map((each) => each.executionId)
      const text = 'select tag from carillon.executions where execution_id = any ($1::uuid[]) order by tag'
      tags.push(...(await database.query<{ tag: number }>(null, text, [ids])).map(({ tag }) => tag))
    }
    expect(tags).toEqual([...tags].sort((a, b) => a - b))
    expect(tags).toHaveLength(30)
  })
})
