import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { firstIdAt, occurrenceId, shardOf, submissionId } from '../../packages/server/src/domain/identity.ts'
import { latestInstant } from '../../packages/server/src/domain/schedule/time-range.ts'
import { Database } from '../../packages/server/src/store/database.ts'
import { migrate } from '../../packages/server/src/store/migrate.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'

let home: TestDatabase
let database: Database

beforeAll(async () => {
  home = await createDatabase()
  database = new Database({ url: home.url, maxConnections: 2, statementTimeoutMs: 20_000, applicationName: 'test' })
  await migrate(database, { shardCount: 4, partitionHours: 24, retentionDays: 30 })
})
afterAll(async () => {
  await database.end()
  await home.drop()
})

const instants = fc.oneof(fc.constantFrom(0, latestInstant), fc.integer({ min: 0, max: latestInstant }))

describe('ids are the same in SQL and in TypeScript', () => {
  it('the shard of an id', async () => {
    const ids = fc.sample(fc.tuple(fc.uuid(), instants), 500).map(([job, at]) => occurrenceId(job, at))
    for (const shards of [1, 4, 64, 1_000, 1_024]) {
      const rows = await database.query<{ shard: number }>(
        null,
        'select carillon.shard_of(id, $2) shard from unnest($1::uuid[]) with ordinality i(id, n) order by n',
        [ids, shards],
      )
      expect(rows.map(({ shard }) => shard)).toEqual(ids.map((id) => shardOf(id, shards)))
    }
  })

  it('the first id of an instant', async () => {
    const times = fc.sample(instants, 500)
    const rows = await database.query<{ id: string }>(
      null,
      'select carillon.first_id(at) id from unnest($1::bigint[]) with ordinality t(at, n) order by n',
      [times],
    )
    expect(rows.map(({ id }) => id)).toEqual(times.map(firstIdAt))
  })

  it('the order: PostgreSQL sorts ids as their texts, and so by time', async () => {
    const ids = fc.sample(instants, 300).map(submissionId)
    const rows = await database.query<{ id: string }>(null, 'select id from unnest($1::uuid[]) i(id) order by id', [
      ids,
    ])
    expect(rows.map(({ id }) => id)).toEqual([...ids].sort())
  })

  it('milliseconds there and back are exact over the whole calendar', async () => {
    const times = fc.sample(instants, 500)
    const rows = await database.query<{ at: number }>(
      null,
      'select carillon.ms(carillon.at(at)) at from unnest($1::bigint[]) with ordinality t(at, n) order by n',
      [times],
    )
    expect(rows.map(({ at }) => at)).toEqual(times)
  })
})
