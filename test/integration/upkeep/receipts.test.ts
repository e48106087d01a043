/** What a node has acknowledged is counted, and told again to a database that has forgotten it. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Receipts } from '../../../packages/server/src/admission/receipts.ts'
import { newId } from '../../../packages/server/src/domain/identity.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { Database } from '../../../packages/server/src/store/database.ts'
import { migrate } from '../../../packages/server/src/store/migrate.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'

const minuteMs = 60_000
const start = Date.UTC(2030, 0, 1)
const clock = { at: start, now: () => clock.at }

let home: TestDatabase
let database: Database
let receipts: Receipts

beforeEach(async () => {
  home = await createDatabase()
  clock.at = start
  const { url } = home
  database = new Database({ url, maxConnections: 2, statementTimeoutMs: 20_000, applicationName: 'test' })
  await migrate(database, { shardCount: 1, partitionHours: 24, retentionDays: 30 })
  receipts = new Receipts({ database, nodeId: newId(start), clock, logger: createLogger('silent') })
})
afterEach(async () => {
  await database.end()
  await home.drop()
})

const submitted = (count: number, at = clock.at) =>
  receipts.acknowledged(Array.from({ length: count }, () => ({ tenant: 'acme', executionId: newId(at) })))
const beats = async (count: number) => {
  for (let i = 0; i < count; i++) await receipts.runOnce().catch(() => {})
}
const counts = async () =>
  (await database.query<{ count: number }>(null, 'select count from carillon.receipts order by minute, book')).map(
    ({ count }) => count,
  )
const losses = () => database.query(null, 'select from carillon.losses')

it('writes whole counts by minute, with one beat of five and at the end', async () => {
  submitted(3)
  await beats(4)
  expect(await counts()).toEqual([])
  await beats(1)
  submitted(2)
  submitted(4, start - 5 * minuteMs)
  await beats(5)
  expect(await counts()).toEqual([4, 5])
  clock.at += minuteMs
  submitted(1)
  await receipts.stop()
  expect(await counts()).toEqual([4, 5, 1])
})

it('loses no count when the database is away', async () => {
  submitted(3)
  await database.query(null, 'alter table carillon.receipts rename to away')
  await beats(7)
  submitted(2)
  await database.query(null, 'alter table carillon.away rename to receipts')
  await beats(5)
  expect(await counts()).toEqual([5])
  expect(await losses()).toHaveLength(0)
})

it('tells a database that has forgotten everything again, and puts it on record', async () => {
  submitted(3)
  clock.at += 11 * minuteMs
  submitted(2)
  await beats(5)
  await database.query(null, 'delete from carillon.receipts')
  await database.query(null, 'update carillon.beats set beat = beat - 2')
  await beats(1)
  expect(await counts()).toEqual([3, 2])
  expect(await losses()).toHaveLength(1)
  // More beats than were confirmed: only an answer was lost.
  await database.query(null, 'update carillon.beats set beat = beat + 1')
  await beats(5)
  expect(await losses()).toHaveLength(1)
})

it('puts on record that another server took over', async () => {
  submitted(3)
  await beats(5)
  await database.query(null, 'delete from carillon.receipts')
  await database.query(null, `update carillon.beats set timeline = 'another'`)
  const audited = () => database.query(null, `select from carillon.audit where action = 'database.promoted'`)
  await beats(1)
  expect(await audited()).toHaveLength(1)
  expect(await losses()).toHaveLength(0)
})

it('counts what comes late for a minute in another book, once its own is closed', async () => {
  submitted(3)
  await beats(5)
  clock.at += 30 * minuteMs
  submitted(2, start)
  await beats(5)
  expect(await counts()).toEqual([3, 2])
})
