/** Leadership by etcd in a process that a test kills or freezes: `node leader-process.ts <database> <etcd> <leaseMs>`. */
import { etcdPlace } from '../../../packages/server/src/config/etcd-place.ts'
import { newId } from '../../../packages/server/src/domain/identity.ts'
import { KeepAliveThread } from '../../../packages/server/src/keep-alive/keep-alive.ts'
import { EtcdLeadership } from '../../../packages/server/src/leadership/etcd.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { Database } from '../../../packages/server/src/store/database.ts'

const [databaseUrl, leadershipUrl, lease] = process.argv.slice(2) as [string, string, string]
const leaseMs = Number(lease)
const everyMs = 300
const logger = createLogger('error')
const times = { renewEveryMs: everyMs, workersEveryMs: 5_000, answerWithinMs: leaseMs }
const keepAlive = new KeepAliveThread({ databaseUrl, ...times }, logger)
await keepAlive.start()
const database = new Database({
  url: databaseUrl,
  maxConnections: 2,
  statementTimeoutMs: 2_000,
  applicationName: 'leader',
})
const leadership = new EtcdLeadership({
  place: etcdPlace(leadershipUrl),
  lease: { nodeId: newId(Date.now()), nodeName: 'other', leaseMs, lifeMs: 10_000 },
  ...{ database, keepAlive, everyMs, logger },
})
await leadership.start()
console.log('started')
