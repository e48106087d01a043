/**
 * Copies: executions submitted again into another pool, as executions of their own, for example to try a new version of a worker
 * with yesterday's work. The originals are only read.
 *
 * What must stay true: an operation copies an execution at most once, whichever nodes work on it. The step stores how far it has come
 * with the copies, and the id of a copy is computed from the operation and the original. All of them have the time at which the
 * operation was asked for, which is after everything it selects: a copy is never copied by its own operation.
 */
import { CarillonError } from '@carillon/contract'
import { reservedPrefix } from '../domain/built-in-targets.ts'
import type { Flow } from '../domain/fairness.ts'
import { copyId } from '../domain/identity.ts'
import type { ExecutionFilter } from '../executions/selection.ts'
import type { KnownPools } from '../jobs/pools.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { readPoolKeys } from '../store/jobs/pools.ts'
import { type CopyParams, failOperation } from '../store/operations/operations.ts'
import { readCopyable, type Step, stepCopy } from '../store/operations/step.ts'
import { bulkOf } from './bulk.ts'

/** Refuses a pool that does not exist, or that only nodes serve. */
export async function copyOf(
  database: Database,
  pools: KnownPools,
  request: { tenant: string; filter: ExecutionFilter; pool: string; now: number },
): Promise<CopyParams> {
  const { tenant, pool, now } = request
  if (pool.startsWith(reservedPrefix)) {
    throw new CarillonError('VALIDATION', {
      pointer: '/pool',
      message: `begins with ${reservedPrefix}`,
      hint: 'Such pools are Carillon’s own; choose one that workers serve',
    })
  }
  await pools.require(tenant, pool, '/pool')
  const { params } = await bulkOf(database, 'COPY', request)
  return { ...params, pool, at: Math.floor(now) + 1 }
}

export interface CopierOptions {
  database: Database
  signals: Signals
  tag: (flows: readonly Flow[]) => Promise<number[]>
  onSubmitted?: (items: { tenant: string; executionId: string }[]) => void
}

export class Copier {
  readonly #options: CopierOptions

  constructor(options: CopierOptions) {
    this.#options = options
  }

  async step({ operation, ids, ...how }: Step): Promise<void> {
    const { database, signals, tag, onSubmitted } = this.#options
    const { operationId, fence, tenant } = operation
    const { pool: name, at } = operation.params as CopyParams
    const pool = (await readPoolKeys(database, tenant)).get(name)
    if (pool === undefined) {
      await failOperation(database, { operationId, fence, error: `the pool ${name} was deleted` })
      return
    }
    const originals = await readCopyable(database, ids)
    const tags = await tag(originals.map(({ lane }) => ({ pool, lane, tenant })))
    const copies = originals.map(({ executionId: source }, i) => ({
      source,
      executionId: copyId(operationId, source, at),
      tag: tags[i]!,
    }))
    const passed = ids.length - copies.length
    const { created, queued } = await stepCopy(database, { ...how, operation, copies, passed, pool, at })
    onSubmitted?.(created.map((executionId) => ({ tenant, executionId })))
    for (const { pool, lane, tag } of queued) signals.publish({ kind: 'READY', pool, lane, tag })
  }
}
