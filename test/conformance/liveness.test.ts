import { KeepAliveThread } from '../../packages/server/src/keep-alive/keep-alive.ts'
import { PostgresLiveness } from '../../packages/server/src/liveness/postgres.ts'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import { describeLiveness } from './liveness.ts'

const logger = createLogger('silent')

describeLiveness('PostgreSQL', async ({ database, url }, { everyMs, attachedEveryMs, lostMs, now }) => {
  const times = { renewEveryMs: attachedEveryMs, workersEveryMs: attachedEveryMs, answerWithinMs: 5_000 }
  const thread = new KeepAliveThread({ databaseUrl: url, ...times }, logger)
  let started = Promise.resolve()
  // Most nodes of the suite have no worker of their own and need no thread.
  const keepAlive = {
    addWorker(workerId: string) {
      started = thread.start()
      thread.addWorker(workerId)
    },
    removeWorker: (workerId: string) => thread.removeWorker(workerId),
  }
  return {
    liveness: new PostgresLiveness({ database, keepAlive, logger, everyMs, lostMs, now }),
    async dispose() {
      await started
      await thread.stop()
    },
  }
})
