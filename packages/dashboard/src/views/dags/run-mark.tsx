/** The state of a run. FAILED is final here, unlike that of an execution, which is tried again. */
import type { DagRunSummary } from '@carillon/contract'
import { StateMark } from '../../components/state-mark.tsx'

type Told = Pick<DagRunSummary, 'state' | 'paused'>

/** As components/state-mark.tsx knows it. */
export function markOf({ state, paused }: Told): string {
  if (state === 'FAILED') return 'RUN_FAILED'
  return state === 'RUNNING' && paused ? 'PAUSED' : state
}

export function RunMark({ of }: { of: Told }) {
  return <StateMark state={markOf(of)} />
}

export function isOver({ state }: Pick<DagRunSummary, 'state'>): boolean {
  return state !== 'RUNNING'
}
