/**
 * What the arithmetic of docs/guides/scaling.md rests on: `npx node scripts/servers/sizes.ts`. Bytes of a job at rest and of a
 * finished execution on disk, with their indexes, and bytes of WAL for a fire and its whole life, on the embedded PostgreSQL with
 * its own settings.
 */

import { monotonicMs } from '../../packages/server/src/lib/clock.ts'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import { Database } from '../../packages/server/src/store/database.ts'
import { migrate } from '../../packages/server/src/store/migrate.ts'
import { Partitioner } from '../../packages/server/src/upkeep/partitioner.ts'
import { createDatabase, startPostgres18 } from '../../test/support/postgres.ts'
import { endOf, TestStore } from '../../test/support/store.ts'

const [jobs, lives, batch] = [20_000, 100_000, 1_000]
const postgres = await startPostgres18()
const home = await createDatabase({ server: postgres.url })
const first = new Database({ url: home.url, maxConnections: 2, statementTimeoutMs: 20_000, applicationName: 'set-up' })
await migrate(first, { shardCount: 64, partitionHours: 24, retentionDays: 30 })
await new Partitioner({ database: first, clock: { now: monotonicMs }, logger: createLogger('silent') }).createMissing()
await first.end()
const store = new TestStore(home, 4)
await store.lead()
const payload = JSON.stringify({ accountId: '0f8fad5b-d9cb-469f-a165-70867728950e', kind: 'invoice', page: 12 })

const sizeOf = async (tables: string) => {
  const rows = await store.database.query<{ bytes: number }>(
    null,
    `select sum(pg_total_relation_size(c.oid))::float8 bytes from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'carillon' and c.relkind = 'r' and c.relname ~ $1`,
    [tables],
  )
  return rows[0]!.bytes
}
const wal = async () => {
  const rows = await store.database.query<{ at: number }>(
    null,
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 at`,
  )
  return rows[0]!.at
}

const jobTables = '^(jobs|schedules|job_versions)$'
const empty = await sizeOf(jobTables)
const ids: string[] = []
const due = Math.floor(Date.now() / 1_000) * 1_000 - 3_600_000
for (let made = 0; made < jobs; made += 100)
  ids.push(...(await Promise.all(Array.from({ length: 100 }, () => store.job({ payload, nominal: due })))))
const perJob = ((await sizeOf(jobTables)) - empty) / jobs

// Into pages that are in use already, and after a checkpoint that this load is far from.
const live = async (fire: (count: number) => Promise<void>, count: number) => {
  const before = await wal()
  for (let done = 0; done < count; done += batch) {
    await fire(batch)
    const leased = await store.lease(batch)
    await store.settle(leased.map((each) => endOf(each)))
  }
  return ((await wal()) - before) / count
}
const submitted = async (count: number) => void (await store.submit(count))
await live(submitted, 10_000)
const ledger = await sizeOf('^executions_')
const perLife = await live(submitted, lives)
const perExecution = ((await sizeOf('^executions_')) - ledger) / lives
let next = 0
const fired = async (count: number) => {
  await store.fire(ids.slice(next, next + count))
  next = (next + count) % ids.length
}
const perFire = await live(fired, ids.length)
console.log({
  bytesPerJobAtRest: Math.round(perJob),
  bytesPerFinishedExecution: Math.round(perExecution),
  walBytesPerSubmittedLife: Math.round(perLife),
  walBytesPerFiredLife: Math.round(perFire),
  payloadBytes: payload.length,
})
await store[Symbol.asyncDispose]()
await postgres.stop()
