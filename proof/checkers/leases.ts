/** What the ledger says of leases: how each one ended, and in which of an execution's lives. */
import type { LedgerRow, LedgerTransition, Run } from '../history.ts'

const ends = new Set(['SUCCEEDED', 'DEAD', 'CANCELLED', 'SKIPPED'])

export function hasEnded(row: LedgerRow): boolean {
  return ends.has(row.state)
}

/** Run by the installation itself, without a worker that writes down what it does: runs of graphs, and signals. */
export function isBuiltIn({ handler }: LedgerRow): boolean {
  return handler.startsWith('carillon.')
}

/** The ledger keeps this many transitions of an execution: what is missing from a longer one proves nothing. */
const keptTransitions = 50

export function isWhole({ transitions }: LedgerRow): boolean {
  return transitions.length < keptTransitions
}

/** When the lease under each fence ended. A success is the end of the row; all others are transitions. */
export function leaseEnds(row: LedgerRow): Map<number, number> {
  const ended = new Map<number, number>()
  for (const { fence, to, at } of row.transitions) {
    // Whoever was handed the execution reports under the same fence.
    if (fence !== null && to !== 'DEFERRED') ended.set(fence, at)
  }
  if (row.state === 'SUCCEEDED' && row.fence !== null) ended.set(row.fence, row.finishedAt!)
  return ended
}

/** Replayed by a person, an execution begins another life, with all its attempts again. */
export function isReturn({ reason }: LedgerTransition): boolean {
  return reason === 'REPLAYED' || reason === 'BACKFILLED'
}

export function runsByExecution(runs: readonly Run[]): Map<string, Run[]> {
  return Map.groupBy(runs, ({ executionId }) => executionId)
}

/**
 * The runs that began while they held their lease. A worker that was stopped may begin one whose lease is long lost: it does
 * not know yet, and nothing it says will count.
 */
export function rightfulStarts(row: LedgerRow, runs: readonly Run[] = []): Run[] {
  const ended = leaseEnds(row)
  return runs.filter(({ what, fence, at }) => what === 'BEGAN' && at <= (ended.get(fence) ?? Number.POSITIVE_INFINITY))
}

/** When it began: also without a worker, as what waits for a run or a signal does. */
export function startTimes(row: LedgerRow, runs?: readonly Run[]): number[] {
  const handedOver = row.transitions.filter(({ to }) => to === 'DEFERRED').map(({ at }) => at)
  return [...rightfulStarts(row, runs).map(({ at }) => at), ...handedOver]
}
