/** Prints how executions end, as the node tells it. */
import type { Context } from '../context.ts'
import { detailsOf, stateOf, subjectOf } from '../event-text.ts'
import type { NodeClient } from '../node-client.ts'
import { clockTime } from '../times.ts'

const nameWidth = 12
/** Ends of an execution, and of an attempt that is followed by another. */
const types = [
  'execution.succeeded',
  'execution.retrying',
  'execution.dead',
  'execution.cancelled',
  'execution.skipped',
] as const

export async function printEnds(node: NodeClient, { out }: Context, signal: AbortSignal): Promise<void> {
  for await (const event of node.events({ types, signal })) {
    if (event.type === 'reset') continue
    const state = stateOf(event)
    const label = out.state(state)(state.padEnd(9))
    out.line(`${clockTime(event.at)}  ${label}  ${subjectOf(event).padEnd(nameWidth)}  ${detailsOf(event)}`.trimEnd())
  }
}
