/**
 * Arbitrary rows in every queue table while tenants work: nothing of theirs is lost, every bad row leaves the queues, and what was
 * set aside is named by the doctor. The long form, which also judges lateness, is `npm run bad-rows`.
 */
import { expect, it } from 'vitest'
import { runBadRows } from '../../proof/bad-rows/run.ts'
import { createDatabase } from '../support/postgres.ts'

it('arbitrary rows stop nobody’s work', { timeout: 240_000 }, async () => {
  const database = await createDatabase()
  try {
    const seed = Math.floor(Math.random() * 1e9)
    const { url } = database
    const result = await runBadRows({ databaseUrl: url, seed, rows: 60, tenants: 4, seconds: 4, settleSeconds: 120 })
    expect(result).toMatchObject({ seed, lost: 0, left: {}, named: result.quarantined })
    expect(result.quarantined).toBeGreaterThan(50)
    expect(result.started).toBeGreaterThan(10)
  } finally {
    await database.drop()
  }
})
