/** Which executions match a filter, a bounded piece at a time. See functions/reads/select_executions.sql. */
import type { ExecutionState, Origin } from '@carillon/contract'
import { failureStates } from '../../domain/execution-state.ts'
import type { Database } from '../database.ts'

/** As it is kept with long work: JSON. Null: any. */
export interface Selection {
  tenant: string
  states: ExecutionState[] | null
  jobId: string | null
  handler: string | null
  pool: string | null
  origin: Origin | null
  /** Empty: without an error. */
  error: string | null
  /** Left out of selections that nodes of the version before have stored. */
  reason?: string | null
  labels: Record<string, string> | null
  /** Ids strictly between these. */
  after: string
  before: string
}

/** No execution has these. */
export const firstId = '00000000-0000-0000-0000-000000000000'
export const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

export type Order = 'asc' | 'desc'

export interface Piece {
  ids: string[]
  /** The id to go on from; null: that was all. */
  next: string | null
}

type Source =
  | ('ledger' | 'job' | 'endings' | 'running' | 'pending' | 'retries')
  | ('oldest_ledger' | 'oldest_job' | 'oldest_endings')

/** `look` rows from where the range begins. */
export async function selectExecutions(
  database: Database,
  selection: Selection,
  { order, limit, look }: { order: Order; limit: number; look: number },
): Promise<Piece> {
  const { tenant, states, jobId, handler, pool, origin, error, reason = null, labels, after, before } = selection
  const rows = await database.query<{ id: string; number: number; matches: boolean }>(
    'select-executions',
    `select execution_id id, number, matches
     from carillon.select_executions($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14)`,
    [
      ...[sourceOf(selection, order), tenant, after, before, look, limit, states, jobId],
      ...[handler, pool, origin, error, labels && JSON.stringify(labels), reason],
    ],
  )
  const ids = rows.filter((row) => row.matches).map((row) => row.id)
  const last = rows.at(-1)
  const isCut = last !== undefined && (rows.length === limit || last.number === look)
  return { ids, next: isCut ? last.id : null }
}

function sourceOf({ states, jobId }: Selection, order: Order): Source {
  const only = (among: readonly string[]) => states?.every((state) => among.includes(state)) ?? false
  if (only(['DEAD', 'CANCELLED', 'SKIPPED'])) return order === 'asc' ? 'oldest_endings' : 'endings'
  if (order === 'asc') return jobId === null ? 'oldest_ledger' : 'oldest_job'
  if (only(['RUNNING'])) return 'running'
  if (only(['PENDING'])) return 'pending'
  if (only(failureStates)) return 'retries'
  return jobId === null ? 'ledger' : 'job'
}

/** The same selection, from where a piece ended. */
export function resumed(selection: Selection, order: Order, from: string | null): Selection {
  if (from === null) return selection
  return order === 'asc' ? { ...selection, after: from } : { ...selection, before: from }
}

/** All executions of a job. */
export function ofJob(tenant: string, jobId: string): Selection {
  const any = { states: null, handler: null, pool: null, origin: null, error: null, reason: null, labels: null }
  return { ...any, tenant, jobId, after: firstId, before: lastId }
}
