/** Holds every step of the model against the state machine: domain/execution-state.ts says which moves there are. */
import { type ExecutionState, mayMove, transitions } from '../../packages/server/src/domain/execution-state.ts'
import { Difference } from './compare.ts'
import type { Seen } from './observe.ts'

/** The state of each execution after the last step. */
export type States = Map<string, ExecutionState>

/** Throws if an execution got from its last state to its present one in a way that the state machine does not have. */
export function checkMoves(states: States, seen: Seen): void {
  for (const [key, { state }] of seen) {
    if (!key.startsWith('execution ')) continue
    const from = states.get(key) ?? null
    const to = state as ExecutionState
    if (from !== to && !mayReach(from, to)) throw new Difference(`${key}: moved from ${from} to ${to}`)
    states.set(key, to)
  }
}

/** One step may take two moves: created and leased, or failed and dead. */
function mayReach(from: ExecutionState | null, to: ExecutionState): boolean {
  return mayMove(from, to) || transitions.some((first) => first.from === from && mayMove(first.to, to))
}
