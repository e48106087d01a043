/** Whether two lists of steps mean the same, however they are written: what is left out is its default. */
import { isDeepStrictEqual } from 'node:util'
import type { DagStep } from '@carillon/contract'
import { payloadOf, workOf } from './define-steps.ts'

export function sameSteps(a: readonly DagStep[], b: readonly DagStep[]): boolean {
  return a.length === b.length && a.every((step, i) => isDeepStrictEqual(normal(step), normal(b[i]!)))
}

function normal(step: DagStep): object {
  const { name, dependsOn = [], runIf = 'ALL_SUCCEEDED', allowFailure = false, when } = step
  const work = workOf(step, payloadOf(step), { tenant: '', now: 0 })
  return { ...work, name, dependsOn: dependsOn.toSorted(), runIf, allowFailure, when }
}
