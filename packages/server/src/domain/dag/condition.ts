/**
 * Conditions on results: the Common Expression Language, as far as it needs no more time than its text and the results are long.
 *
 * What must stay true: a condition comes from a tenant and is evaluated by the leader of a shard. So there is nothing in it that repeats
 * or backtracks: no comprehensions over lists, no regular expressions, a bounded number of nodes.
 */

import { type ErrorDetail, limits } from '@carillon/contract'
import { type ASTNode, Environment, type ParseResult } from '@marcbachmann/cel-js'

/** What a condition may name. */
export interface ConditionContext {
  /** Of the steps it depends on; null: without a result. */
  results: Record<string, unknown>
  states: Record<string, string>
}

const environment = new Environment({
  limits: { maxAstNodes: 100, maxDepth: 20, maxListElements: 50, maxMapEntries: 10, maxCallArguments: 4 },
})
  .registerVariable('results', 'map')
  .registerVariable('states', 'map')

const functions = new Set(['size', 'has', 'int', 'double', 'string', 'bool', 'contains', 'startsWith', 'endsWith'])
const hint = `Such as: results.extract.count > 0 && results["check-2"].ok. Known are ${[...functions].join(', ')}`

/** Of a step with this condition; empty: it can be evaluated. */
export function conditionProblems(text: string, dependsOn: readonly string[]): ErrorDetail[] {
  const problem = (message: string) => [{ message: `when: ${message}`, hint }]
  if (text.length > limits.conditionLength) return problem(`is longer than ${limits.conditionLength} characters`)
  let parsed: ParseResult
  try {
    parsed = environment.parse(text)
  } catch (error) {
    return problem(firstLine(error))
  }
  const nodes = nodesOf(parsed.ast)
  const foreign = nodes.map(calledBy).find((name) => name !== null && !functions.has(name))
  if (foreign) return problem(`${foreign} is not known`)
  const { valid, type, error } = parsed.check()
  if (!valid) return problem(firstLine(error))
  if (type !== 'bool' && type !== 'dyn') return problem(`is ${type}, not true or false`)
  const unknown = nodes.map(stepNamedBy).find((name) => name !== null && !dependsOn.includes(name))
  return unknown ? problem(`${unknown} is none of the steps it depends on`) : []
}

export type Judged = { holds: boolean } | { error: string }

const mostKept = 1_000
const kept = new Map<string, ParseResult>()

/** The text has no problems. A field that is not there, and whatever is neither true nor false, is an error. */
export function evaluate(text: string, context: ConditionContext): Judged {
  try {
    const value: unknown = parse(text)({ ...context })
    if (typeof value === 'boolean') return { holds: value }
    return { error: `it is ${typeof value}, not true or false` }
  } catch (error) {
    return { error: firstLine(error) }
  }
}

function parse(text: string): ParseResult {
  const known = kept.get(text)
  if (known) return known
  if (kept.size >= mostKept) kept.clear()
  const parsed = environment.parse(text)
  kept.set(text, parsed)
  return parsed
}

function nodesOf(node: unknown): ASTNode[] {
  if (Array.isArray(node)) return node.flatMap(nodesOf)
  if (typeof node !== 'object' || node === null || !('op' in node)) return []
  return [node as ASTNode, ...nodesOf((node as ASTNode).args)]
}

/** The function that a node calls. */
function calledBy({ op, args }: ASTNode): string | null {
  return op === 'call' || op === 'rcall' ? String((args as unknown[])[0]) : null
}

/** The step that a node names: `results.extract`, `states["check-2"]`. */
function stepNamedBy({ op, args }: ASTNode): string | null {
  if (op !== '.' && op !== '[]') return null
  const [of, name] = args as [ASTNode, unknown]
  if (of.op !== 'id' || (of.args !== 'results' && of.args !== 'states')) return null
  if (typeof name === 'string') return name
  const { op: kind, args: value } = name as ASTNode
  return kind === 'value' && typeof value === 'string' ? value : null
}

function firstLine(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split('\n', 1)[0]!
}
