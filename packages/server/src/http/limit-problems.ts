/** What is wrong with a limit by itself, besides what its schema says. */
import type { ErrorDetail, LimitInput } from '@carillon/contract'
import { CarillonError } from '@carillon/contract'
import { closed, LimitName, LimitInput as schema } from '@carillon/contract/api'
import { Type } from 'typebox'
import { everyTenant } from './auth/caller.ts'
import { checker } from './validation.ts'

const checkShape = checker(Type.Object({ name: LimitName, ...schema.properties }, closed), 'body')

/** Everything that is wrong with a limit and its name. */
export function declaredLimitProblems(input: unknown): readonly ErrorDetail[] {
  try {
    checkShape(input)
    return limitProblems(input as LimitInput)
  } catch (error) {
    if (error instanceof CarillonError) return error.errors
    throw error
  }
}

export function limitProblems({
  for: scope = 'KEY',
  of = null,
  concurrency = null,
  rate = null,
}: LimitInput): ErrorDetail[] {
  const problems: ErrorDetail[] = []
  if (concurrency === null && rate === null)
    problems.push({
      pointer: '/concurrency',
      message: 'concurrency or rate must be given',
      hint: 'Such as {"concurrency": 5} or {"rate": {"count": 100, "perSec": 60}}',
    })
  if (scope === 'KEY' && of !== null)
    problems.push({
      pointer: '/of',
      message: 'of does not go with KEY',
      hint: 'Leave it out: executions name their keys; or say what it names: for',
    })
  if (scope === 'TENANT' && of === everyTenant)
    problems.push({ pointer: '/of', message: `${everyTenant} is no tenant`, hint: 'Leave it out to mean each tenant' })
  return problems
}
