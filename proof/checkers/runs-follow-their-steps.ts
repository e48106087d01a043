/** The rules by which steps are skipped and runs end, a second time: docs/guides/dags.md, not the code. */
import type { Checker, DagRunRow } from '../history.ts'
import { answer } from './conditions.ts'
import { hasEnded, runsByExecution } from './leases.ts'
import { lastLife, type Step, stepsOf } from './step-lives.ts'
import { returnedBy } from './step-results.ts'

/** Nothing failed: a condition, its own or of one before it, decided against it. */
const decidedAgainst = new Set<string | null>(['CONDITION_FALSE', 'DEPENDENCY_SKIPPED'])
const byCondition = new Set<string | null>([...decidedAgainst, 'DEPENDENCY_FAILED'])
/** Each of them follows from what the step depends on. */
const decided = new Set<string | null>([...byCondition, 'CONDITION_FAILED'])
const ofTheRun = new Set<string | null>(['RUN_CANCELLED', 'RUN_DEADLINE'])

export const runsFollowTheirSteps: Checker = {
  name: 'runs-follow-their-steps',
  promise:
    'Every run has all its steps and ends, in one state, which follows from how they ended; they follow from each other.',
  check(history) {
    const byExecution = runsByExecution(history.runs)
    const byRun = Map.groupBy(stepsOf(history), ({ run }) => run.runId)
    return history.dagRuns.flatMap((run) => {
      const steps = byRun.get(run.runId) ?? []
      const retriedAt = Math.max(...steps.filter(({ lives }) => lives.length > 1).map((step) => lastLife(step).from))
      const began = ({ row }: Step) =>
        (byExecution.get(row.executionId) ?? []).some(({ what, at }) => what === 'BEGAN' && at >= retriedAt)
      const returned = (step: Step) => returnedBy(step, byExecution.get(step.row.executionId))
      return [
        ...runProblems(run, steps).map((problem) => ({ subject: run.runId, problem })),
        ...steps.flatMap((step) =>
          stepProblems(step, retriedAt, { began, returned }).map((problem) => ({
            subject: step.row.executionId,
            problem: `(${step.asked.name}) ${problem}`,
          })),
        ),
      ]
    })
  },
}

function runProblems(run: DagRunRow, steps: Step[]): string[] {
  const { state, reason, failedCount, finishedAt } = run
  if (steps.length !== run.steps.length) return [`has ${steps.length} of ${run.steps.length} steps in the ledger`]
  if (state === 'RUNNING' || finishedAt === null) return [`is still ${state}`]
  const open = steps.filter(({ row }) => !hasEnded(row))
  if (open.length > 0) return [`is ${state}, and ${open.map(({ asked }) => asked.name).join(', ')} are not over`]
  const failures = steps.filter(countsAsFailure).length
  const wanted = stateOf(failures, run)
  const last = Math.max(...steps.map(({ row }) => row.finishedAt!))
  return [
    ...(`${state} ${reason}` === wanted ? [] : [`is ${state} ${reason}, its steps say ${wanted}`]),
    ...(failedCount === failures ? [] : [`counts ${failedCount} failures, its steps ${failures}`]),
    ...(last <= finishedAt ? [] : [`ended at ${finishedAt}, before its last step at ${last}`]),
  ]
}

function stateOf(failures: number, { cancelReason, maxFailures }: DagRunRow): string {
  if (failures === 0 || (cancelReason === null && failures <= maxFailures)) return 'SUCCEEDED null'
  if (cancelReason === 'RUN_CANCELLED') return 'CANCELLED CANCELLED'
  return `FAILED ${cancelReason === 'RUN_DEADLINE' ? 'DEADLINE' : 'STEP_FAILED'}`
}

function countsAsFailure({ asked, row: { state, reason } }: Step): boolean {
  if (state === 'SUCCEEDED' || (state === 'SKIPPED' && byCondition.has(reason))) return false
  return !asked.allowFailure || ofTheRun.has(reason)
}

/** Of a step that ended since the run was last retried; what it decided by has not changed after that. */
function stepProblems(step: Step, retriedAt: number, { began, returned }: StepAsked): string[] {
  const { state, reason, finishedAt } = step.row
  if (!hasEnded(step.row) || finishedAt! < retriedAt) return []
  const wanted = verdictOf(step, returned)
  const skipped = state === 'SKIPPED' && decided.has(reason) ? reason : null
  if (skipped !== null && skipped !== wanted)
    return [`was SKIPPED ${skipped}, though what it depends on says ${wanted ?? 'run'}`]
  if (wanted === null || skipped !== null)
    return began(step) && skipped !== null ? [`began and is SKIPPED ${reason}`] : []
  // Cancelled before it was decided.
  if (state === 'CANCELLED' && !began(step)) return []
  return [`is ${state} ${reason}, though it should have been SKIPPED ${wanted}`]
}

interface StepAsked {
  began: (step: Step) => boolean
  returned: (step: Step) => unknown
}

/** Why it must be skipped; null: it must not. */
function verdictOf(step: Step, returned: StepAsked['returned']): string | null {
  const { when } = step.asked
  const verdict = verdictOfStates(step)
  if (verdict !== null || when === null) return verdict
  const names = step.parents.map(({ asked }) => asked.name)
  const results = step.parents.map((parent) => (parent.row.state === 'SUCCEEDED' ? returned(parent) : null))
  const holds = answer(when, {
    results: Object.fromEntries(names.map((name, at) => [name, results[at]])),
    states: Object.fromEntries(names.map((name, at) => [name, step.parents[at]!.row.state])),
  })
  if (holds === null) return 'CONDITION_FAILED'
  return holds ? null : 'CONDITION_FALSE'
}

function verdictOfStates({ asked, parents }: Step): string | null {
  const against = parents.filter(({ row }) => row.state === 'SKIPPED' && decidedAgainst.has(row.reason)).length
  const failed = parents.filter(({ row }) => row.state !== 'SUCCEEDED').length - against
  if (asked.runIf === 'ALL_DONE') return null
  if (asked.runIf === 'ANY_FAILED') return failed > 0 ? null : 'CONDITION_FALSE'
  if (failed > 0) return 'DEPENDENCY_FAILED'
  return against > 0 ? 'DEPENDENCY_SKIPPED' : null
}
