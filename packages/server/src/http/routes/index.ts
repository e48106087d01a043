/** Every route, by the id of its operation. */
import { dagsRoutes } from './dags/index.ts'
import { eventsRoutes } from './events/index.ts'
import { executionsRoutes } from './executions/index.ts'
import { jobsRoutes } from './jobs/index.ts'
import { limitsRoutes } from './limits/index.ts'
import { poolsRoutes } from './pools/index.ts'
import { quarantineRoutes } from './quarantine/index.ts'
import { systemRoutes } from './system/index.ts'
import { tenantsRoutes } from './tenants/index.ts'
import { tokensRoutes } from './tokens/index.ts'
import { workersRoutes } from './workers/index.ts'

export const routes = {
  ...jobsRoutes,
  ...executionsRoutes,
  ...dagsRoutes,
  ...workersRoutes,
  ...poolsRoutes,
  ...limitsRoutes,
  ...tenantsRoutes,
  ...eventsRoutes,
  ...quarantineRoutes,
  ...systemRoutes,
  ...tokensRoutes,
}
