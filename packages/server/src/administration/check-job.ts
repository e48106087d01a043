/** Validates a job without a node, for tools that check a manifest before sending it. */
import type { ErrorDetail } from '@carillon/contract'
import { definitionProblems } from '../http/definition-problems.ts'

/**
 * Everything that is wrong with a job, or nothing. Whether its pool exists and its target is allowed only a node knows.
 *
 * @example
 * ```ts
 * import { checkJob } from '@carillon/server/administration'
 *
 * const input = { type: 'CRON', schedule: '61 * * * *', target: { handler: 'greet' } }
 * for (const { pointer, message } of checkJob(input, Date.UTC(2030, 0, 1))) console.log(pointer, message)
 * ```
 */
export function checkJob(input: unknown, now: number): readonly ErrorDetail[] {
  return definitionProblems(input, now)
}
