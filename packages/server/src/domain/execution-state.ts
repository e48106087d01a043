/**
 * The life of an execution as data: its states, the transitions between them and why each is taken. The database holds
 * the ends (a CHECK on `executions.state`); the other states follow from the table that holds its row. A test compares this table
 * with the constraint and with the diagram in docs/internals/execution-states.md, and the model (proof/model) holds every
 * move of every execution against it.
 */
import { type ExecutionState, executionStates } from '@carillon/contract'

export { type ExecutionState, executionStates }

/** States an execution stays in unless a person intervenes. */
export const endStates = ['SUCCEEDED', 'DEAD', 'CANCELLED', 'SKIPPED'] as const satisfies readonly ExecutionState[]
export type EndState = (typeof endStates)[number]

/** How an attempt can end without success and without being the end. */
export const failureStates = ['FAILED', 'TIMED_OUT', 'WORKER_LOST'] as const satisfies readonly ExecutionState[]
export type FailureState = (typeof failureStates)[number]

export interface Transition {
  from: ExecutionState | null
  to: ExecutionState
  because: string
}

export const transitions: readonly Transition[] = [
  { from: null, to: 'PENDING', because: 'due or submitted' },
  { from: null, to: 'BLOCKED', because: 'waits for steps it depends on' },
  { from: null, to: 'SKIPPED', because: 'policy said no; the reason is recorded' },
  { from: 'BLOCKED', to: 'PENDING', because: 'dependencies done' },
  { from: 'BLOCKED', to: 'CANCELLED', because: 'cancelled' },
  { from: 'BLOCKED', to: 'SKIPPED', because: 'a dependency did not succeed' },
  { from: 'PENDING', to: 'RUNNING', because: 'leased' },
  { from: 'PENDING', to: 'CANCELLED', because: 'cancelled' },
  { from: 'PENDING', to: 'SKIPPED', because: 'expired' },
  { from: 'PENDING', to: 'DEAD', because: 'deadline passed, or discarded from quarantine' },
  { from: 'RUNNING', to: 'SUCCEEDED', because: 'the handler returned' },
  { from: 'RUNNING', to: 'FAILED', because: 'the handler threw' },
  { from: 'RUNNING', to: 'TIMED_OUT', because: 'longer than its timeout' },
  { from: 'RUNNING', to: 'WORKER_LOST', because: 'the worker sent no more heartbeats' },
  { from: 'RUNNING', to: 'CANCELLED', because: 'cancelled' },
  { from: 'RUNNING', to: 'PENDING', because: 'handed back; no attempt used' },
  ...failureStates.flatMap((from): Transition[] => [
    { from, to: 'PENDING', because: 'retry due' },
    { from, to: 'DEAD', because: 'attempts used up, or not retryable' },
    { from, to: 'CANCELLED', because: 'cancelled' },
  ]),
  { from: 'DEAD', to: 'PENDING', because: 'replayed by a person' },
  { from: 'CANCELLED', to: 'PENDING', because: 'replayed by a person' },
  { from: 'SKIPPED', to: 'PENDING', because: 'backfilled by a person' },
  ...(['DEAD', 'CANCELLED', 'SKIPPED'] as const).map((from): Transition => {
    return { from, to: 'BLOCKED', because: 'its run was retried by a person' }
  }),
]

export function mayMove(from: ExecutionState | null, to: ExecutionState): boolean {
  return transitions.some((t) => t.from === from && t.to === to)
}

export function isEnd(state: ExecutionState): state is EndState {
  return (endStates as readonly ExecutionState[]).includes(state)
}
