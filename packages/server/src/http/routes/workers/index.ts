import { getWorker } from './get.ts'
import { leaseExecutions } from './lease.ts'
import { listWorkers } from './list.ts'
import { deregisterWorker, registerWorker } from './register.ts'
import { reportExecutions } from './report.ts'

export const workersRoutes = {
  registerWorker,
  listWorkers,
  getWorker,
  leaseExecutions,
  reportExecutions,
  deregisterWorker,
}
