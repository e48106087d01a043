/** What routes may use. The composition root fills it; nothing here knows how a node is put together. */
import type { TenantQuotas } from '../admission/quotas.ts'
import type { Completion } from '../completion/completion.ts'
import type { Dags } from '../dags/dags.ts'
import type { DagRuns } from '../dags/runs.ts'
import type { Events } from '../events/events.ts'
import type { Ends } from '../executions/ends.ts'
import type { Executions } from '../executions/executions.ts'
import type { Explainer } from '../executions/explainer.ts'
import type { LogFeed } from '../executions/log-feed.ts'
import type { Forecasts } from '../forecast/forecasts.ts'
import type { DeclaredTenants } from '../jobs/declared-tenants.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { Clock } from '../lib/clock.ts'
import type { Activity } from '../observability/activity.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Operations } from '../operations/operations.ts'
import type { Quarantine } from '../quarantine/quarantine.ts'
import type { Signals } from '../signals/port.ts'
import type { Stats } from '../stats/stats.ts'
import type { Database } from '../store/database.ts'
import type { Submissions } from '../submissions/submissions.ts'
import type { BoundTokens } from '../targets/bound-tokens.ts'
import type { WorkerSessions } from '../workers/worker-sessions.ts'

export interface Services {
  /** The node that answers. */
  node: { name: string; version: string }
  database: Database
  clock: Clock
  signals: Signals
  metrics: Metrics
  activity: Activity
  /** Which tenants may bring work. */
  tenants: DeclaredTenants
  /** How much of it. */
  quotas: TenantQuotas
  jobs: Jobs
  submissions: Submissions
  executions: Executions
  dags: Dags
  dagRuns: DagRuns
  explainer: Explainer
  operations: Operations
  quarantine: Quarantine
  stats: Stats
  ends: Ends
  forecasts: Forecasts
  events: Events
  logFeed: LogFeed
  workerSessions: WorkerSessions
  /** How long a long poll may wait. */
  maxPollMs: number
  completion: Completion
  /** Completion tokens of deferred executions. */
  tokens: BoundTokens
}
