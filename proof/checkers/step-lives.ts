/**
 * Steps of runs as their checkers see them. A retry of the run takes a step back, and it lives once more; one that SUCCEEDED is kept.
 * How an earlier life ended is known only as far as the ledger says: not as a success.
 */
import type { DagRunRow, DagStepRow, History, LedgerRow } from '../history.ts'
import { hasEnded, isReturn } from './leases.ts'

/** Of a step, or any execution. */
export interface Life {
  from: number
  /** Null: it has not ended. */
  endedAt: number | null
  /** Null: not known, but it is no success. */
  state: string | null
}

export interface Step {
  run: DagRunRow
  asked: DagStepRow
  row: LedgerRow
  lives: Life[]
  /** What it depends on, in the order asked for. */
  parents: Step[]
}

/** Steps that are in the ledger. */
export function stepsOf({ executions, dagRuns }: Pick<History, 'executions' | 'dagRuns'>): Step[] {
  const rows = new Map(executions.map((row) => [row.executionId, row]))
  return dagRuns.flatMap((run) => {
    const steps = new Map<string, Step>()
    for (const asked of run.steps) {
      const row = rows.get(asked.executionId)
      if (row === undefined) continue
      const parents = asked.dependsOn.map((name) => steps.get(name)).filter((parent) => parent !== undefined)
      steps.set(asked.name, { run, asked, row, lives: livesOf(row), parents })
    }
    return [...steps.values()]
  })
}

/** The one it lives or lived at that time. */
export function lifeAt({ lives }: Step, at: number): Life {
  return lives.findLast(({ from }) => from <= at) ?? lives[0]!
}

export function lastLife({ lives }: Step): Life {
  return lives.at(-1)!
}

/** A replay begins another one. */
export function livesOf(row: LedgerRow): Life[] {
  const lives: Life[] = []
  let from = row.firedAt
  let lastAt = row.firedAt
  for (const transition of row.transitions) {
    if (isReturn(transition)) {
      lives.push({ from, endedAt: lastAt, state: null })
      from = transition.at
    }
    lastAt = transition.at
  }
  return [...lives, { from, endedAt: row.finishedAt, state: hasEnded(row) ? row.state : null }]
}
