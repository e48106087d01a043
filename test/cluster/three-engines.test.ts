import { expect, it } from 'vitest'
import { createDatabase } from '../support/postgres.ts'
import { threeEngines } from './three-engines.ts'

// The whole of it, 2,000 jobs over two minutes, is `npm run cluster`.
it('fires every occurrence once though one engine is killed and one frozen', async () => {
  const database = await createDatabase()
  try {
    const result = await threeEngines({ databaseUrl: database.url, jobs: 300, seconds: 20 })
    expect(result).toMatchObject({ expected: 6_000, fired: 6_000, missing: 0, skipped: 0, succeeded: 6_000 })
    expect(result.refusedReports).toBeGreaterThan(0)
  } finally {
    await database.drop()
  }
}, 120_000)
