/** Validates a graph without a node, for tools that check a manifest before sending it. */
import type { ErrorDetail } from '@carillon/contract'
import { dagProblems } from '../http/dag-problems.ts'

/**
 * Everything that is wrong with a graph, or nothing. Whether the pools of its steps exist and their targets are allowed only a node
 * knows.
 *
 * @example
 * ```ts
 * import { checkDag } from '@carillon/server/administration'
 *
 * const input = { steps: [{ name: 'load', target: { handler: 'load' }, dependsOn: ['extract'] }] }
 * for (const { pointer, message } of checkDag(input, Date.UTC(2030, 0, 1))) console.log(pointer, message)
 * ```
 */
export function checkDag(input: unknown, now: number): readonly ErrorDetail[] {
  return dagProblems(input, now)
}
