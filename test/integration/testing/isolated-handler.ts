/** A handler for a thread of its own. */
import type { HandlerContext } from '@carillon/server'

export default async function handle(ctx: HandlerContext<{ n: number }>): Promise<object> {
  return { n: ctx.payload.n, now: ctx.now().toISOString(), scheduledFor: ctx.scheduledFor.toISOString() }
}
