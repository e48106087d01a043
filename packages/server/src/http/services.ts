/** What routes may use. The composition root fills it; nothing here knows how a node is put together. */
import type { Ends } from '../executions/ends.ts'
import type { Executions } from '../executions/executions.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { Clock } from '../lib/clock.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import type { Submissions } from '../submissions/submissions.ts'
import type { WorkerDesk } from '../workers/worker-desk.ts'

export interface Services {
  database: Database
  clock: Clock
  signals: Signals
  jobs: Jobs
  submissions: Submissions
  executions: Executions
  ends: Ends
  desk: WorkerDesk
}
