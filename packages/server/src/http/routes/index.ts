/** Every route, by the id of its operation. */
import { eventsRoutes } from './events/index.ts'
import { executionsRoutes } from './executions/index.ts'
import { jobsRoutes } from './jobs/index.ts'
import { poolsRoutes } from './pools/index.ts'
import { quarantineRoutes } from './quarantine/index.ts'
import { systemRoutes } from './system/index.ts'
import { workersRoutes } from './workers/index.ts'

export const routes = {
  ...jobsRoutes,
  ...executionsRoutes,
  ...workersRoutes,
  ...poolsRoutes,
  ...eventsRoutes,
  ...quarantineRoutes,
  ...systemRoutes,
}
