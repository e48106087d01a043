/** Executions as people and programs handle them: read, waited for, cancelled, brought back. Bound to a tenant throughout. */
import { CarillonError } from '@carillon/contract'
import type { Jobs } from '../jobs/jobs.ts'
import type { Clock } from '../lib/clock.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { cancel } from '../store/executions/cancel.ts'
import { type ExecutionRecord, readExecution, readExecutionsOfJob } from '../store/executions/read.ts'
import { replay } from '../store/executions/replay.ts'
import { withdrawSubmission } from '../store/executions/submit.ts'

export interface ExecutionsOptions {
  database: Database
  signals: Signals
  clock: Clock
  jobs: Jobs
}

export type CancelOutcome = 'CANCELLED' | 'CANCELLING' | 'ENDED'

export class Executions {
  readonly #options: ExecutionsOptions

  constructor(options: ExecutionsOptions) {
    this.#options = options
  }

  find(tenant: string, executionId: string): Promise<ExecutionRecord | null> {
    return readExecution(this.#options.database, tenant, executionId)
  }

  async read(tenant: string, executionId: string): Promise<ExecutionRecord> {
    const record = await this.find(tenant, executionId)
    if (record) return record
    throw new CarillonError('EXECUTION_NOT_FOUND', {
      message: `there is no execution ${executionId}`,
      hint: 'Check the id and the tenant; history is kept for a limited time',
    })
  }

  /** A job's executions, newest first. */
  ofJob(tenant: string, jobId: string, limit: number): Promise<ExecutionRecord[]> {
    return readExecutionsOfJob(this.#options.database, tenant, jobId, limit)
  }

  /**
   * One that is to come never fires, a pending one never starts; a running one is told to stop and loses its lease after
   * the grace.
   */
  async cancel(tenant: string, executionId: string, why: { reason: string; actor: string }): Promise<CancelOutcome> {
    const { database, signals, jobs } = this.#options
    if (!(await this.find(tenant, executionId))) {
      // Not in the ledger yet: a one-shot to come has the same id. If it fires just now, its execution is there.
      if (await withdrawSubmission(database, tenant, executionId)) return 'CANCELLED'
      if (await jobs.remove(tenant, executionId, { actor: why.actor }).then(() => true, unlessGone)) return 'CANCELLED'
      await this.read(tenant, executionId)
    }
    const [done] = await cancel(database, [executionId], why)
    if (done?.verdict !== 'FLAGGED') return done?.verdict === 'CANCELLED' ? 'CANCELLED' : 'ENDED'
    const { workerId, fence } = done
    signals.publish({ kind: 'CANCEL', workerId: workerId!, executionId, fence: fence!, reason: 'CANCELLED' })
    return 'CANCELLING'
  }

  /** Brings a dead or cancelled execution back, with all its attempts. */
  async replay(tenant: string, executionId: string, actor: string): Promise<void> {
    const { database, signals, clock } = this.#options
    await this.read(tenant, executionId)
    const [done] = await replay(database, [executionId], actor)
    if (done?.verdict === 'REPLAYED') {
      signals.publish({ kind: 'DUE', at: clock.now() })
      return
    }
    if (done?.verdict === 'TOO_OLD') {
      throw new CarillonError('OCCURRENCE_TOO_OLD', 'the history it belongs to is about to be dropped')
    }
    if (done?.verdict === 'OVERLAP')
      throw new CarillonError('OVERLAP_FORBIDDEN', 'another execution of the job is unfinished')
    throw new CarillonError('STATE_CONFLICT', { message: 'only DEAD and CANCELLED executions can be replayed' })
  }
}

function unlessGone(error: unknown): false {
  if (error instanceof CarillonError && error.code === 'JOB_NOT_FOUND') return false
  throw error
}
