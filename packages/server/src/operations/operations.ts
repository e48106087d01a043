/** Operations: started, read, stopped. The Operator does the work. */
import { CarillonError, type DryRun, type OperationKind } from '@carillon/contract'
import { newId } from '../domain/identity.ts'
import type { ExecutionFilter } from '../executions/selection.ts'
import type { KnownPools } from '../jobs/pools.ts'
import type { Clock } from '../lib/clock.ts'
import type { Database } from '../store/database.ts'
import { entryOf, type Once } from '../store/idempotency/answers.ts'
import { readJob } from '../store/jobs/read.ts'
import {
  countUnderWay,
  createOperation,
  type OperationRecord,
  readOperation,
  stopOperation,
} from '../store/operations/operations.ts'
import { type BackfillRequest, backfillOf, countMissing } from './backfill.ts'
import { type BulkWork, bulkOf, countSelected, orderOf } from './bulk.ts'
import { copyOf } from './copy.ts'

export interface Requester {
  tenant: string
  actor: string
}

export interface Begin {
  ratePerSec?: number
  /** The request, if it must not be done twice. */
  once?: Once<OperationRecord>
}

/** Work that was selected, but not begun. */
export interface Prepared {
  /** What it would touch, as far as it was counted. */
  count: DryRun
  begin(options: Begin): Promise<OperationRecord>
}

const mostUnderWay = 20

export interface OperationsOptions {
  database: Database
  clock: Clock
  pools: KnownPools
  /** Called after an operation was created. */
  wake: () => void
}

export class Operations {
  readonly #options: OperationsOptions

  constructor(options: OperationsOptions) {
    this.#options = options
  }

  async bulk(by: Requester, work: Exclude<BulkWork, 'COPY'>, filter: ExecutionFilter): Promise<Prepared> {
    const { database, clock } = this.#options
    const { kind, params } = await bulkOf(database, work, { tenant: by.tenant, filter, now: clock.now() })
    const count = await countSelected(database, params.selection, orderOf(kind))
    return { count, begin: (options) => this.#begin(by, kind, params, count, options) }
  }

  /** Executions submitted again into another pool. */
  async copy(by: Requester, request: { filter: ExecutionFilter; pool: string }): Promise<Prepared> {
    const { database, clock, pools } = this.#options
    const params = await copyOf(database, pools, { ...request, tenant: by.tenant, now: clock.now() })
    const count = await countSelected(database, params.selection, orderOf('COPY'))
    return { count, begin: (options) => this.#begin(by, 'COPY', params, count, options) }
  }

  async backfill(by: Requester, request: Omit<BackfillRequest, 'tenant' | 'now'>): Promise<Prepared> {
    const { database, clock } = this.#options
    const params = await backfillOf(database, { ...request, tenant: by.tenant, now: clock.now() })
    const job = await readJob(database, by.tenant, params.jobId)
    const count = job ? await countMissing(database, job, params) : { count: 0, exact: true }
    return { count, begin: (options) => this.#begin(by, 'BACKFILL', params, count, options) }
  }

  async read(tenant: string, operationId: string): Promise<OperationRecord> {
    const operation = await readOperation(this.#options.database, tenant, operationId)
    if (operation) return operation
    throw new CarillonError('OPERATION_NOT_FOUND', {
      message: `there is no operation ${operationId}`,
      hint: 'Check id and tenant',
    })
  }

  /** What is done stays done; a backfill's executions go on. */
  async cancel({ tenant, actor }: Requester, operationId: string): Promise<OperationRecord> {
    await this.read(tenant, operationId)
    const stopped = await stopOperation(this.#options.database, { operationId, actor })
    const operation = await this.read(tenant, operationId)
    if (stopped || operation.state === 'CANCELLED') return operation
    throw new CarillonError('STATE_CONFLICT', {
      message: `the operation is ${operation.state} already`,
      hint: 'Nothing is left to be stopped',
    })
  }

  async #begin(
    { tenant, actor }: Requester,
    kind: OperationKind,
    params: OperationRecord['params'],
    { count, exact }: DryRun,
    { ratePerSec = null, once }: { ratePerSec?: number | null; once?: Once<OperationRecord> },
  ): Promise<OperationRecord> {
    await this.#requireRoom(tenant)
    const now = Math.floor(this.#options.clock.now())
    const operation: OperationRecord = {
      ...{ operationId: newId(now), tenant, kind, params, state: 'RUNNING', total: exact ? count : null },
      ...{ done: 0, skipped: 0, position: null, open: [], ratePerSec, fence: 0 },
      ...{ createdBy: actor, createdAt: now, finishedAt: null, error: null },
    }
    await createOperation(this.#options.database, operation, await entryOf(once, operation))
    this.#options.wake()
    return operation
  }

  /** Operations take turns: a tenant with many would delay all others. */
  async #requireRoom(tenant: string): Promise<void> {
    if ((await countUnderWay(this.#options.database, tenant)) < mostUnderWay) return
    throw new CarillonError('RATE_LIMITED', {
      message: `${mostUnderWay} operations are under way, as many as a tenant may have at once`,
      hint: 'Wait for one to end, or cancel one',
    })
  }
}
