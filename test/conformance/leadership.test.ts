import { newId } from '../../packages/server/src/domain/identity.ts'
import { KeepAliveThread } from '../../packages/server/src/keep-alive/keep-alive.ts'
import { PostgresLeadership } from '../../packages/server/src/leadership/postgres.ts'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import { describeLeadership } from './leadership.ts'

const logger = createLogger('silent')
const renewEveryMs = 300

describeLeadership('leases in PostgreSQL', async ({ database, url }, leaseMs) => {
  const times = { renewEveryMs, workersEveryMs: 5_000, answerWithinMs: leaseMs }
  const keepAlive = new KeepAliveThread({ databaseUrl: url, ...times }, logger)
  await keepAlive.start()
  const lease = { nodeId: newId(Date.now()), nodeName: 'node', leaseMs, lifeMs: 10_000 }
  const leadership = new PostgresLeadership({ database, keepAlive, lease, everyMs: renewEveryMs, logger })
  return {
    leadership,
    die: () => keepAlive.stop(),
    async dispose() {
      await leadership.stop()
      await keepAlive.stop()
    },
  }
})
