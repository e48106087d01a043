/** Everything that is wrong with a graph by itself: its fields, the wiring of its steps, and what each of them means. */
import { CarillonError, type DagInput, type ErrorDetail } from '@carillon/contract'
import { DagInput as schema } from '@carillon/contract/api'
import { checkStep, payloadOf, workOf } from '../dags/define-steps.ts'
import { graphProblems } from '../domain/dag/graph.ts'
import { checker } from './validation.ts'

const checkShape = checker(schema, 'body')

export function dagProblems(input: unknown, now: number): readonly ErrorDetail[] {
  const shape = problemsOf(() => checkShape(input))
  if (shape.length > 0) return shape
  const { steps } = input as DagInput
  const ofSteps = steps.flatMap((step, at) =>
    [
      ...problemsOf(() => checkStep(step)),
      ...problemsOf(() => workOf(step, payloadOf(step), { tenant: 'default', now })),
    ].map((detail) => ({
      ...detail,
      pointer: `/steps/${at}${detail.pointer ?? ''}`,
    })),
  )
  return [...graphProblems(steps), ...ofSteps]
}

function problemsOf(check: () => unknown): readonly ErrorDetail[] {
  try {
    check()
    return []
  } catch (error) {
    if (error instanceof CarillonError) return error.errors
    throw error
  }
}
