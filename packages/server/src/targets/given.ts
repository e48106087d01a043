/**
 * What a target outside is given besides the names of the execution: the payload as JSON. A step of a graph without a payload of its own is
 * given what its handler would find in `ctx.dag`: the run, what that was given, and the results of the steps it depends on. An item of a
 * list has a payload, the item, also if that is null. See docs/decisions/0062-what-targets-are-given-of-a-run.md.
 */
import type { HandlerContext } from '@carillon/sdk'

export function givenTo({ payload, dag }: HandlerContext): unknown {
  if (payload !== null || dag === null || dag.itemIndex !== null) return payload
  const { itemIndex: _, ...given } = dag
  return given
}

/** Its names in its run, for headers, the environment and the like. Empty: it is no step. */
export function stepFacts({ dag }: HandlerContext): { runId?: string; step?: string; itemIndex?: string } {
  if (dag === null) return {}
  const { runId, step, itemIndex } = dag
  return { runId, step, ...(itemIndex !== null && { itemIndex: `${itemIndex}` }) }
}
