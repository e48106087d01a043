import { PostgresDueSource } from '../../packages/server/src/due-source/postgres.ts'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import { Isolation } from '../../packages/server/src/store/quarantine/isolation.ts'
import { describeDueSource } from './due-source.ts'

describeDueSource('PostgreSQL', ({ database }, clock) => {
  const isolation = new Isolation({ database, logger: createLogger('silent') })
  return new PostgresDueSource({ database, clock, isolation })
})
