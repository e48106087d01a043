/** How much of what graphs can do came about: a proof that never saw a fan-out fail proves nothing about it. */
import type { DagStepRow, History, LedgerRow } from './history.ts'

export type GraphCounts = Record<string, number>

export function countGraphs({ executions, dagRuns, followers }: Pick<History, 'executions' | 'dagRuns' | 'followers'>) {
  const counts: GraphCounts = {}
  const add = (what: string) => {
    counts[what] = (counts[what] ?? 0) + 1
  }
  const rows = new Map(executions.map((row) => [row.executionId, row]))
  for (const { steps, startedBy, fanOut, state } of dagRuns) {
    if (startedBy === null) add(`run ${state}`)
    else if (!fanOut) add(`${rows.get(startedBy)?.origin === 'DAG' ? 'inner run' : 'run of a job'} ${state}`)
    for (const step of steps) {
      const row = rows.get(step.executionId)
      if (row) add(`${kindOf(step, { fanOut, row })} ${row.state}`)
      if (row?.reason === 'CONDITION_FAILED') add('condition that cannot be answered')
    }
  }
  const following = new Set(followers.map(({ jobId }) => jobId))
  for (const { jobId, transitions } of executions) {
    if (following.has(jobId) && transitions[0]?.after) add('execution after another')
  }
  return counts
}

function kindOf({ waitFor, forEach, when }: DagStepRow, { fanOut, row }: { fanOut: boolean; row: LedgerRow }): string {
  if (fanOut) return 'item'
  if (waitFor !== null) return 'signalled step'
  if (forEach !== null) return 'fan-out'
  if (row.handler === 'carillon.dag') return 'step that runs a graph'
  return when === null ? 'step' : 'step with a condition'
}
