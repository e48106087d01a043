import { afterAll, beforeAll } from 'vitest'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import { LocalSignals } from '../../packages/server/src/signals/local.ts'
import { NotifySignals } from '../../packages/server/src/signals/notify.ts'
import { Database } from '../../packages/server/src/store/database.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { describeSignals } from './signals.ts'

const logger = createLogger('silent')
let home: TestDatabase

beforeAll(async () => {
  home = await createDatabase()
})
afterAll(() => home.drop())

describeSignals('NOTIFY', async () => {
  const database = new Database({
    ...{ url: home.url, maxConnections: 4, statementTimeoutMs: 10_000, applicationName: 'nodes' },
  })
  const node = (nodeId: string) => new NotifySignals({ database, nodeId, logger })
  return { nodes: [node('a'), node('b')], dispose: () => database.end() }
})

describeSignals('calls within one process', async () => ({ nodes: [new LocalSignals(logger)], async dispose() {} }), {
  nodes: 1,
})
