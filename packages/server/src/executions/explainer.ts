/** Gathers what is known about an execution and says why it does not run. */
import type { Explanation } from '@carillon/contract'
import { isEnd } from '../domain/execution-state.ts'
import { findJob } from '../jobs/followed.ts'
import type { Clock } from '../lib/clock.ts'
import { type RunAbove, readRunsAbove } from '../store/dags/read-above.ts'
import type { Database } from '../store/database.ts'
import type { ExecutionRecord } from '../store/executions/read.ts'
import { readLastEnd } from '../store/executions/read-last-end.ts'
import { countAhead, readPlacement, readServing } from '../store/executions/read-placement.ts'
import { readJob } from '../store/jobs/read.ts'
import { readQuarantinedExecution } from '../store/quarantine/read.ts'
import type { Executions } from './executions.ts'
import { countedAhead, explainEnded, explainQuarantined, explainToCome, explainUnfinished } from './explain.ts'
import { explainFollower } from './explain-follower.ts'

export class Explainer {
  readonly #options: { database: Database; clock: Clock; executions: Executions; suspectMs: number }

  constructor(options: { database: Database; clock: Clock; executions: Executions; suspectMs: number }) {
    this.#options = options
  }

  async explain(tenant: string, executionId: string): Promise<Explanation> {
    const { database, clock, executions, suspectMs } = this.#options
    const found = await executions.find(tenant, executionId)
    const coming = found ? null : await executions.toCome(tenant, executionId)
    if (coming) return explainToCome(executionId, coming)
    const quarantined = await readQuarantinedExecution(database, tenant, executionId)
    if (!found && quarantined) return explainQuarantined(executionId, quarantined)
    const follower = found ? null : await this.#follower(tenant, executionId)
    if (follower) return follower
    const record = found ?? (await executions.read(tenant, executionId))
    if (isEnd(record.state)) return explainEnded(record, await this.#above(record))
    const [placement, workers, ahead] = await Promise.all([
      readPlacement(database, executionId),
      readServing(database, record),
      countAhead(database, { executionId, most: countedAhead }),
    ])
    // It ended between the questions.
    if (!placement) return this.explain(tenant, executionId)
    const { lease, queued, waits, backAt, blocked } = placement
    const hasPlace = lease || queued || waits || blocked || backAt !== null
    if (quarantined && !hasPlace) return explainQuarantined(executionId, quarantined)
    const above = await this.#above(record, lease?.run?.runId)
    return explainUnfinished(record, { placement, workers, ahead, above, now: clock.now(), suspectMs })
  }

  /** From the run that it has started, or that it is a step of. */
  #above({ origin, jobId }: ExecutionRecord, started?: string): Promise<RunAbove[]> | RunAbove[] {
    const runId = started ?? (origin === 'DAG' ? jobId : undefined)
    return runId === undefined ? [] : readRunsAbove(this.#options.database, runId)
  }

  /** Null: it is no job of type AFTER. */
  async #follower(tenant: string, jobId: string): Promise<Explanation | null> {
    const { database } = this.#options
    const job = await readJob(database, tenant, jobId)
    if (job === null || job.definition.after === null) return null
    const followed = await findJob(database, tenant, job.definition.after.job)
    return explainFollower(job, followed && { last: await readLastEnd(database, tenant, followed.definition.jobId) })
  }
}
