/** Quarantined rows, as operators handle them: listed, released, discarded. */
import { CarillonError } from '@carillon/contract'
import type { Jobs } from '../jobs/jobs.ts'
import type { Clock } from '../lib/clock.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { discard, leave, release } from '../store/quarantine/leave.ts'
import { listQuarantined, type Quarantined, type QuarantineFilter, readQuarantined } from '../store/quarantine/read.ts'
import { isOfData } from '../store/trouble.ts'

export interface QuarantineOptions {
  database: Database
  jobs: Jobs
  signals: Signals
  clock: Clock
}

export interface Operator {
  /** Null: the installation's, which may touch every row. */
  tenant: string | null
  actor: string
}

export class Quarantine {
  readonly #options: QuarantineOptions

  constructor(options: QuarantineOptions) {
    this.#options = options
  }

  /** Newest first; `next`: where the page after it begins. */
  async list(filter: QuarantineFilter): Promise<{ rows: Quarantined[]; next: number | null }> {
    const rows = await listQuarantined(this.#options.database, { ...filter, limit: filter.limit + 1 })
    if (rows.length <= filter.limit) return { rows, next: null }
    const page = rows.slice(0, filter.limit)
    return { rows: page, next: page.at(-1)!.quarantineId }
  }

  /** Puts it back into its table. Returns what it was. */
  async release(by: Operator, quarantineId: number): Promise<Quarantined> {
    const { database, signals, clock } = this.#options
    const entry = await this.#find(by, quarantineId)
    const verdict = await release(database, quarantineId, by.actor).catch((error: unknown) => {
      if (!isOfData(error)) throw error
      throw conflict(`the table refuses the row: ${(error as Error).message}`)
    })
    if (verdict === 'MISSING') throw notFound(quarantineId)
    if (verdict === 'KEPT') throw conflict('a row with its key stands in the table already')
    if (verdict === 'RESUME') await this.#resume(by, entry)
    const { pool, lane, tag } = entry.key as { pool: string; lane: number; tag: number }
    if (entry.source === 'ready') signals.publish({ kind: 'READY', pool, lane, tag })
    else signals.publish({ kind: 'DUE', at: clock.now() })
    return entry
  }

  /** Discards it. Returns what it was. */
  async discard(by: Operator, quarantineId: number): Promise<Quarantined> {
    const { database, signals } = this.#options
    const entry = await this.#find(by, quarantineId)
    const { verdict, ended } = await discard(database, quarantineId, by.actor)
    if (verdict === 'MISSING') throw notFound(quarantineId)
    if (ended !== null) signals.publish({ kind: 'ENDED', executionIds: [ended] })
    return entry
  }

  async #resume({ actor }: Operator, { quarantineId, tenant, jobId }: Quarantined): Promise<void> {
    const { database, jobs } = this.#options
    if (tenant !== null && jobId !== null) await jobs.resume(tenant, jobId, { actor })
    await leave(database, quarantineId, actor)
  }

  async #find({ tenant }: Operator, quarantineId: number): Promise<Quarantined> {
    const entry = await readQuarantined(this.#options.database, quarantineId)
    if (entry === null || (tenant !== null && entry.tenant !== tenant)) throw notFound(quarantineId)
    return entry
  }
}

function notFound(quarantineId: number): CarillonError {
  return new CarillonError('QUARANTINED_NOT_FOUND', {
    message: `no row ${quarantineId} is in quarantine`,
    hint: 'See the list; it may have been released or discarded already',
  })
}

function conflict(message: string): CarillonError {
  return new CarillonError('STATE_CONFLICT', { message, hint: 'Discard it, or remove the row that is there' })
}
