/** What a handler was told is compared with what the handlers before it returned, as their workers wrote it down. */
import { isDeepStrictEqual } from 'node:util'
import type { Checker, Given } from '../history.ts'
import { isWhole, rightfulStarts, runsByExecution } from './leases.ts'
import { lifeAt, type Step, stepsOf } from './step-lives.ts'
import { returnedBy } from './step-results.ts'

export const stepsAreGivenResults: Checker = {
  name: 'steps-are-given-results',
  promise:
    'The handler of a step is given the payload of its run, and of exactly what it depends on the results and states.',
  check(history) {
    const byExecution = runsByExecution(history.runs)
    const returned = (step: Step) => returnedBy(step, byExecution.get(step.row.executionId))
    return stepsOf(history).flatMap((step) =>
      rightfulStarts(step.row, byExecution.get(step.row.executionId)).flatMap(({ at, given }) =>
        problemsOf(step, at, given, returned).map((problem) => ({
          subject: step.row.executionId,
          problem: `(${step.asked.name}) ${problem}`,
        })),
      ),
    )
  },
}

function problemsOf(step: Step, at: number, given: Given | undefined, returned: (step: Step) => unknown): string[] {
  if (given === undefined) return ['was begun without being told of its run']
  const problems: string[] = []
  if (!isDeepStrictEqual(given.payload, step.run.payload)) problems.push('was given another payload than its run')
  const names = (of: object) => Object.keys(of).toSorted().join(', ')
  const wanted = step.asked.dependsOn.toSorted().join(', ')
  if (names(given.results) !== wanted) problems.push(`was given results of ${names(given.results)}, not of ${wanted}`)
  if (names(given.states) !== wanted) problems.push(`was given states of ${names(given.states)}, not of ${wanted}`)
  for (const parent of step.parents.filter(({ row }) => isWhole(row))) {
    const { name } = parent.asked
    const { state } = lifeAt(parent, at)
    const told = given.states[name]
    if (state === null ? told === 'SUCCEEDED' : told !== state) {
      problems.push(`was told that ${name} is ${told}, which was ${state ?? 'no success'}`)
    }
    const result = state === 'SUCCEEDED' ? returned(parent) : null
    if (isDeepStrictEqual(given.results[name], result)) continue
    problems.push(
      `was given ${JSON.stringify(given.results[name])} of ${name}, which returned ${JSON.stringify(result)}`,
    )
  }
  return problems
}
