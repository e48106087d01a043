/** Executions as people and programs handle them: read, waited for, cancelled, replayed. Bound to a tenant throughout. */
import { type CancelOutcome, CarillonError, type LogLines } from '@carillon/contract'
import { isEnd } from '../domain/execution-state.ts'
import { isId } from '../domain/identity.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { Clock } from '../lib/clock.ts'
import type { Signals } from '../signals/port.ts'
import type { StatusReads } from '../status-reads/port.ts'
import type { Database } from '../store/database.ts'
import { readDedupeRequest } from '../store/dedupes/requests.ts'
import { cancel } from '../store/executions/cancel.ts'
import { readLines } from '../store/executions/log-lines.ts'
import { purge } from '../store/executions/purge.ts'
import { type ExecutionRecord, readExecutions, readExecutionsOfJob } from '../store/executions/read.ts'
import { readToCome, type ToCome } from '../store/executions/read-to-come.ts'
import { readWithdrawn } from '../store/executions/read-withdrawn.ts'
import { replay } from '../store/executions/replay.ts'
import { resumed, selectExecutions } from '../store/executions/select.ts'
import { withdrawSubmission } from '../store/executions/submit.ts'
import { type Quarantined, readQuarantinedExecution } from '../store/quarantine/read.ts'
import { cursorOf, idOfCursor } from './cursor.ts'
import type { Ends } from './ends.ts'
import { linesOf } from './log-view.ts'
import { type ExecutionFilter, selectionOf } from './selection.ts'

export interface ExecutionsOptions {
  database: Database
  statusReads: StatusReads
  signals: Signals
  clock: Clock
  jobs: Jobs
  ends: Ends
  /** Called with executions that ended as CANCELLED without an attempt. */
  onCancelled?: (executionIds: string[]) => void
}

export interface PageRequest {
  limit: number
  cursor?: string
}

export interface ExecutionPage {
  records: ExecutionRecord[]
  nextCursor: string | null
}

/** Of what a list looks at for one page; then the page is short and has a cursor. */
const look = 5_000
const dayMs = 86_400_000

export class Executions {
  readonly #options: ExecutionsOptions

  constructor(options: ExecutionsOptions) {
    this.#options = options
  }

  async find(tenant: string, executionId: string): Promise<ExecutionRecord | null> {
    return isId(executionId) ? this.#options.statusReads.find({ tenant, executionId }) : null
  }

  /** As `find`, but never older than the question: for callers that decide by it or have just changed it. */
  async #findCurrent(tenant: string, executionId: string): Promise<ExecutionRecord | null> {
    return isId(executionId) ? this.#options.statusReads.findCurrent({ tenant, executionId }) : null
  }

  /** As `find`; and one that was cancelled before it fired. */
  async findEver(tenant: string, executionId: string): Promise<ExecutionRecord | null> {
    if (!isId(executionId)) return null
    const { database } = this.#options
    return (await this.find(tenant, executionId)) ?? (await readWithdrawn(database, tenant, executionId))
  }

  async read(tenant: string, executionId: string, { current = false } = {}): Promise<ExecutionRecord> {
    const record = current ? await this.#findCurrent(tenant, executionId) : await this.find(tenant, executionId)
    if (record) return record
    const coming = await this.toCome(tenant, executionId)
    if (coming) throw toCome(executionId, coming)
    // It may have fired between the two questions.
    const found = (await this.findEver(tenant, executionId)) ?? (await this.#dedupedExecution(tenant, executionId))
    if (found) return found
    const aside = await readQuarantinedExecution(this.#options.database, tenant, executionId)
    if (aside) throw setAside(executionId, aside)
    throw new CarillonError('EXECUTION_NOT_FOUND', {
      message: `there is no execution ${executionId}`,
      hint: 'Check the id and the tenant; history is kept for a limited time',
    })
  }

  /** The execution that an enqueue in SQL with a dedupe key resolved to, under another id than the caller got. */
  async #dedupedExecution(tenant: string, requestId: string): Promise<ExecutionRecord | null> {
    const request = isId(requestId) ? await readDedupeRequest(this.#options.database, tenant, requestId) : null
    return request?.executionId ? this.find(tenant, request.executionId) : null
  }

  /** When it has ended, or its state after `waitMs`. One that is still to come is waited for too. */
  async readEnded(
    tenant: string,
    executionId: string,
    { waitMs, gone }: { waitMs: number; gone?: AbortSignal },
  ): Promise<ExecutionRecord> {
    const record = await this.find(tenant, executionId)
    if (record && isEnd(record.state)) return record
    if (!record && !(await this.toCome(tenant, executionId))) return this.read(tenant, executionId)
    await this.#options.ends.wait(executionId, waitMs, gone)
    return this.read(tenant, executionId, { current: true })
  }

  /** When a one-shot that has not fired yet will; null: no such thing. */
  toCome(tenant: string, executionId: string): Promise<ToCome | null> {
    return readToCome(this.#options.database, tenant, executionId)
  }

  /** What its handler logged, line by line. */
  async logs(tenant: string, executionId: string): Promise<Pick<LogLines, 'lines' | 'dropped'>> {
    const rows = isId(executionId) ? await readLines(this.#options.database, tenant, { executionId, after: 0 }) : []
    if (rows.length === 0) await this.read(tenant, executionId)
    const lines = linesOf(rows)
    return { lines: lines.map(({ line }) => line), dropped: (lines[0]?.position ?? 1) - 1 }
  }

  /** Newest first. Without a job and without `from`: of the last 24 hours. */
  async list(tenant: string, filter: ExecutionFilter, page: PageRequest): Promise<ExecutionPage> {
    const { from, jobId, key } = filter
    const recent = from === undefined && jobId === undefined && key === undefined
    return this.#page(tenant, recent ? { ...filter, from: this.#options.clock.now() - dayMs } : filter, page)
  }

  /** Newest first, of the whole history. */
  deadLetters(tenant: string, filter: Omit<ExecutionFilter, 'state'>, page: PageRequest): Promise<ExecutionPage> {
    return this.#page(tenant, { ...filter, state: 'DEAD' }, page)
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
    if (!(await this.#findCurrent(tenant, executionId))) {
      // Not in the ledger yet: a one-shot to come has the same id. If it fires just now, its execution is there.
      const withdrawn =
        (await withdrawSubmission(database, tenant, executionId, why)) ||
        ((await this.toCome(tenant, executionId)) &&
          (await jobs.remove(tenant, executionId, { actor: why.actor }).then(() => true, unlessGone)))
      if (withdrawn) {
        signals.publish({ kind: 'ENDED', executionIds: [executionId] })
        return 'CANCELLED'
      }
      await this.read(tenant, executionId)
    }
    const [done] = await cancel(database, [executionId], { ...why, onRecord: true })
    if (done?.verdict === 'CANCELLED') this.#options.onCancelled?.([executionId])
    if (done?.verdict !== 'FLAGGED') return done?.verdict === 'CANCELLED' ? 'CANCELLED' : 'ENDED'
    const { workerId, fence } = done
    signals.publish({ kind: 'CANCEL', workerId: workerId!, executionId, fence: fence!, reason: 'CANCELLED' })
    return 'CANCELLING'
  }

  /** Replays a dead or cancelled execution, with all its attempts again. */
  async replay(tenant: string, executionId: string, actor: string): Promise<void> {
    const { database, signals, clock } = this.#options
    await this.read(tenant, executionId)
    if (!(await this.#findCurrent(tenant, executionId))) {
      throw new CarillonError('STATE_CONFLICT', {
        message: 'it was cancelled before it fired, so there is nothing to replay',
        hint: 'Submit it again',
      })
    }
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
    if (done?.verdict === 'STEP') {
      throw new CarillonError('STATE_CONFLICT', {
        message: 'it is a step of a run, and what waited for it has been told how it ended',
        hint: 'Retry the run: POST /v1/dag-runs/{runId}/retry keeps what has SUCCEEDED',
      })
    }
    throw new CarillonError('STATE_CONFLICT', {
      message: 'only DEAD and CANCELLED executions can be replayed',
      hint: 'Check its state; an unfinished one needs no replay',
    })
  }

  /** Strikes a dead letter off the list; its execution stays as it is. One that is not on it any more stays off. */
  async purge(tenant: string, executionId: string, actor: string): Promise<void> {
    const { state } = await this.read(tenant, executionId, { current: true })
    if (await purge(this.#options.database, { tenant, executionId, actor })) return
    if (state === 'DEAD') return
    throw new CarillonError('STATE_CONFLICT', {
      message: 'it is no dead letter',
      hint: 'Only executions that are DEAD are on the list',
    })
  }

  async #page(tenant: string, filter: ExecutionFilter, { limit, cursor }: PageRequest): Promise<ExecutionPage> {
    const { database } = this.#options
    const from = cursor ? idOfCursor(cursor) : null
    const selection = resumed(await selectionOf(database, tenant, filter), 'desc', from)
    const { ids, next } = await selectExecutions(database, selection, { order: 'desc', limit, look })
    const records = await readExecutions(database, tenant, ids)
    const last = records.length < ids.length ? records.at(-1)?.executionId : next
    return { records, nextCursor: last ? cursorOf(last) : null }
  }
}

function toCome(executionId: string, { due, paused }: ToCome): CarillonError {
  return new CarillonError('EXECUTION_TO_COME', {
    message: paused
      ? `execution ${executionId} is still to come, and its job is paused`
      : `execution ${executionId} is still to come: it is due at ${new Date(due).toISOString()}`,
    hint: 'It is a job until then: see it, change it or delete it under /v1/jobs with the same id',
  })
}

function setAside(executionId: string, { quarantineId, code, message }: Quarantined): CarillonError {
  return new CarillonError('EXECUTION_TO_COME', {
    message: `execution ${executionId} could not be fired and was quarantined: ${code}, ${message}`,
    hint: `An operator can put it back or give it up: carillon quarantine release | discard ${quarantineId}`,
  })
}

function unlessGone(error: unknown): false {
  if (error instanceof CarillonError && error.code === 'JOB_NOT_FOUND') return false
  throw error
}
