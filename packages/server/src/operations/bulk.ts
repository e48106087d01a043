/** Work on many executions at once: what a filter chooses, a batch at a time, in one direction and never twice. */
import { CarillonError, type ExecutionState, executionStates, type OperationKind } from '@carillon/contract'
import { failureStates } from '../domain/execution-state.ts'
import { firstIdAt } from '../domain/identity.ts'
import { type ExecutionFilter, selectionOf } from '../executions/selection.ts'
import type { Database } from '../store/database.ts'
import { type Order, resumed, type Selection, selectExecutions } from '../store/executions/select.ts'
import type { BulkParams } from '../store/operations/operations.ts'

const unfinished = ['PENDING', 'RUNNING', 'BLOCKED', ...failureStates] as const satisfies readonly ExecutionState[]

export type BulkWork = 'CANCEL' | 'RETRY' | 'REPLAY_DEAD_LETTERS' | 'PURGE_DEAD_LETTERS' | 'COPY'

/** `states`: what it is about; a filter may choose among them. */
const works: Record<BulkWork, { kind: Exclude<OperationKind, 'BACKFILL'>; states: readonly ExecutionState[] }> = {
  CANCEL: { kind: 'CANCEL', states: unfinished },
  RETRY: { kind: 'RETRY', states: ['DEAD', 'CANCELLED'] },
  REPLAY_DEAD_LETTERS: { kind: 'RETRY', states: ['DEAD'] },
  PURGE_DEAD_LETTERS: { kind: 'PURGE', states: ['DEAD'] },
  // What was SKIPPED never ran, and one row may stand for many.
  COPY: { kind: 'COPY', states: executionStates.filter((state) => state !== 'SKIPPED') },
}

/** Of what is looked at in one statement. */
const look = 5_000
const mostCounted = 100_000
const mostRounds = 100

export async function bulkOf(
  database: Database,
  work: BulkWork,
  request: { tenant: string; filter: ExecutionFilter; now: number },
): Promise<{ kind: OperationKind; params: BulkParams }> {
  const { kind, states } = works[work]
  const { tenant, filter, now } = request
  if (filter.state !== undefined && !states.includes(filter.state)) {
    throw new CarillonError('VALIDATION', {
      pointer: '/filter/state',
      message: `${filter.state} cannot be selected here`,
      hint: `Use one of ${states.join(', ')}, or leave it out`,
    })
  }
  const selection = await selectionOf(database, tenant, filter, { states, pointer: '/filter' })
  // Executions created from now on are excluded: the operation would never end.
  const end = firstIdAt(Math.floor(now) + 1)
  if (selection.before > end) selection.before = end
  return { kind, params: { selection, ...(kind === 'CANCEL' && { what: whatOf(filter.state) }) } }
}

function whatOf(state: ExecutionState | undefined): BulkParams['what'] {
  if (state === undefined) return 'ANY'
  return state === 'RUNNING' ? 'RUNNING' : 'PENDING'
}

/** Cancels start with the newest, where unfinished work is; replays and copies keep the original order. */
export function orderOf(kind: OperationKind): Order {
  return kind === 'CANCEL' ? 'desc' : 'asc'
}

/** How many match, as far as they are counted. */
export async function countSelected(
  database: Database,
  selection: Selection,
  order: Order,
): Promise<{ count: number; exact: boolean }> {
  let count = 0
  let from: string | null = null
  for (let round = 0; round < mostRounds && count < mostCounted; round++) {
    const rest: Selection = resumed(selection, order, from)
    const { ids, next } = await selectExecutions(database, rest, { order, limit: look, look })
    count += ids.length
    if (next === null) return { count, exact: true }
    from = next
  }
  return { count, exact: false }
}

/** The next batch of an operation, and where it ends. */
export function nextBatch(
  database: Database,
  { selection, order, position, limit }: { selection: Selection; order: Order; position: string | null; limit: number },
): Promise<{ ids: string[]; next: string | null }> {
  return selectExecutions(database, resumed(selection, order, position), { order, limit, look })
}
