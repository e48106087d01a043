import { expect, it } from 'vitest'
import { createDatabase } from '../support/postgres.ts'
import { tenWorkers } from './ten-workers.ts'

// The whole of it, ten workers on three nodes for a minute, is `npm run cluster:workers`.
it('workers go on at another node when theirs is killed, and nothing is lost', async () => {
  const database = await createDatabase()
  try {
    const shape = { nodes: 2, workers: 3, slots: 20, seconds: 4, rate: 300, engine: { heartbeatEveryMs: 500 } }
    const result = await tenWorkers({ databaseUrl: database.url, ...shape })
    expect(result).toMatchObject({ submitted: 1_200, states: { SUCCEEDED: 1_200 }, healthy: 3 })
  } finally {
    await database.drop()
  }
}, 120_000)
