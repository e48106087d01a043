/** Validates a limit without a node, for tools that check a manifest before sending it. */
import type { ErrorDetail } from '@carillon/contract'
import { declaredLimitProblems } from '../http/limit-problems.ts'

/**
 * Everything that is wrong with a limit and its name, or nothing. Whether the job or the pool that it is for exists only a node knows.
 *
 * @example
 * ```ts
 * import { checkLimit } from '@carillon/server/administration'
 *
 * for (const { pointer, message } of checkLimit({ name: 'acct', concurrency: -1 })) console.log(pointer, message)
 * ```
 */
export function checkLimit(input: unknown): readonly ErrorDetail[] {
  return declaredLimitProblems(input)
}
