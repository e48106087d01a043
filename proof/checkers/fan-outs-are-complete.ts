/** Steps over the items of a list: docs/guides/dags.md, a second time. */
import { isDeepStrictEqual } from 'node:util'
import type { Checker, History } from '../history.ts'
import { runsByExecution } from './leases.ts'
import { type Step, stepsOf } from './step-lives.ts'
import { listOf, returnedBy } from './step-results.ts'

export const fanOutsAreComplete: Checker = {
  name: 'fan-outs-are-complete',
  promise: 'A step over a list runs once for each item, and its result is the list of their results, in order.',
  check(history) {
    const byExecution = runsByExecution(history.runs)
    const steps = stepsOf(history)
    const items = Map.groupBy(steps, ({ run }) => run.runId)
    const started = Map.groupBy(
      history.dagRuns.filter(({ fanOut }) => fanOut),
      ({ startedBy }) => startedBy,
    )
    return steps
      .filter(({ asked, run }) => asked.forEach !== null && !run.fanOut)
      .flatMap((step) => {
        const runs = (started.get(step.row.executionId) ?? []).map(({ runId }) => items.get(runId) ?? [])
        return problemsOf(step, runs, byExecution).map((problem) => ({
          subject: step.row.executionId,
          problem: `(${step.asked.name}) ${problem}`,
        }))
      })
  },
}

function problemsOf(step: Step, runs: readonly Step[][], byExecution: ReadonlyMap<string, History['runs']>): string[] {
  if (runs.length > 1) return [`has started the items of ${runs.length} lists`]
  const items = runs[0] ?? []
  const succeeded = step.row.state === 'SUCCEEDED'
  if (items.length === 0 && !succeeded) return []
  const list = listOf(step, byExecution)
  const given = items.map(({ row }) => row.payload)
  if (list === undefined) return [`was started over a list that is not there: ${JSON.stringify(given)}`]
  if (!isDeepStrictEqual(given, list))
    return [`runs over ${JSON.stringify(given)}, and the list is ${JSON.stringify(list)}`]
  if (!succeeded) return []
  const results = items.map((item) =>
    item.row.state === 'SUCCEEDED' ? returnedBy(item, byExecution.get(item.row.executionId)) : null,
  )
  if (isDeepStrictEqual(step.row.result, results)) return []
  return [`returned ${JSON.stringify(step.row.result)}, and its items ${JSON.stringify(results)}`]
}
