/** Executions that stand for a run: docs/guides/dags.md, a second time. */
import { isDeepStrictEqual } from 'node:util'
import type { Checker, DagRunRow, LedgerRow } from '../history.ts'
import { hasEnded, isWhole, runsByExecution } from './leases.ts'
import { livesOf, type Step, stepsOf } from './step-lives.ts'
import { returnedBy } from './step-results.ts'

export const runsEndTheirExecutions: Checker = {
  name: 'runs-end-their-executions',
  promise:
    'An execution that stands for a run starts it once, however often it is tried, and ends as the run does; no trouble fails it.',
  check(history) {
    const byExecution = runsByExecution(history.runs)
    const byRun = Map.groupBy(stepsOf(history), ({ run }) => run.runId)
    const started = Map.groupBy(history.dagRuns, ({ startedBy }) => startedBy)
    const resultOf = (run: DagRunRow) => {
      const last = (byRun.get(run.runId) ?? []).filter((step) => isLast(run, step))
      const results = last.map((step): [string, unknown] => [
        step.asked.name,
        step.row.state === 'SUCCEEDED' ? returnedBy(step, byExecution.get(step.row.executionId)) : null,
      ])
      return run.fanOut ? results.map(([, result]) => result) : Object.fromEntries(results)
    }
    return history.executions
      .filter(({ handler }) => handler === 'carillon.dag')
      .flatMap((row) => {
        const runs = (started.get(row.executionId) ?? []).toSorted((a, b) => a.createdAt - b.createdAt)
        const ends = runs.at(-1)
        const endOfRun = Math.max(0, ...(byRun.get(ends?.runId ?? '') ?? []).map((step) => step.row.finishedAt ?? 0))
        return [...startProblems(row, runs), ...endProblems(row, ends, { resultOf, endOfRun })].map((problem) => ({
          subject: row.executionId,
          problem,
        }))
      })
  },
}

/** Errors of a run that FAILED, and of a time that was over. */
const endsOfRuns = new Set<string | null>(['RunFailed', 'TimedOut'])

function isLast({ steps, fanOut }: DagRunRow, { asked }: Step): boolean {
  return fanOut || !steps.some(({ dependsOn }) => dependsOn.includes(asked.name))
}

/** What it is given may be another thing only after its own run was retried. */
function startProblems(row: LedgerRow, runs: readonly DagRunRow[]): string[] {
  const lives = livesOf(row).length
  const problems = runs.length > lives ? [`has started ${runs.length} runs in ${lives} lives`] : []
  const same = runs.filter((run, at) =>
    runs.slice(0, at).some(({ payload }) => isDeepStrictEqual(payload, run.payload)),
  )
  return [...problems, ...same.map(({ runId }) => `has started ${runId} although there was a run of this payload`)]
}

function endProblems(
  row: LedgerRow,
  run: DagRunRow | undefined,
  { resultOf, endOfRun }: { resultOf: (run: DagRunRow) => unknown; endOfRun: number },
): string[] {
  if (!hasEnded(row)) return []
  if (row.state === 'SUCCEEDED') {
    if (run === undefined) return isDeepStrictEqual(row.result, []) ? [] : ['SUCCEEDED and has started no run']
    if (run.state !== 'SUCCEEDED') return [`SUCCEEDED, and its run ${run.runId} is ${run.state}`]
    const result = resultOf(run)
    const same = isDeepStrictEqual(row.result, result)
    return [
      ...(same ? [] : [`returned ${JSON.stringify(row.result)}, and its run ${JSON.stringify(result)}`]),
      ...(row.finishedAt! >= endOfRun ? [] : [`ended at ${row.finishedAt}, before its run at ${endOfRun}`]),
    ]
  }
  // What can never be started has another reason.
  if (row.state === 'DEAD' && row.reason === 'ATTEMPTS_USED_UP' && !endsOfRuns.has(row.error))
    return [`is DEAD because of ${row.error}, which is nothing that its run came to`]
  if (run === undefined || !isWhole(row)) return []
  const waits = row.transitions.some(({ to, fence }) => to === 'DEFERRED' && fence === row.fence)
  // Once it waits, whoever cancels it leaves its run the time to end.
  if (row.state === 'CANCELLED' && waits && row.finishedAt! < endOfRun)
    return [`was CANCELLED at ${row.finishedAt}, before its run ended at ${endOfRun}`]
  return []
}
