/** What a function is told about the execution: in the client context, and in the event if the job asks for an envelope. */
import type { HandlerContext } from '@carillon/sdk'
import { stepFacts } from '../given.ts'

/** AWS's limit. */
const maxBase64 = 3_583

/** Texts only: some runtimes read the client context as a map of texts. */
export function executionFacts(ctx: HandlerContext): Record<string, string> {
  return {
    executionId: ctx.executionId,
    jobId: ctx.jobId,
    tenant: ctx.tenant,
    attempt: `${ctx.attempt}`,
    fence: `${ctx.fence}`,
    scheduledFor: ctx.scheduledFor.toISOString(),
    ...stepFacts(ctx),
    ...(ctx.traceparent !== null && { traceparent: ctx.traceparent }),
  }
}

export function clientContext(ctx: HandlerContext): string {
  const { traceparent, ...rest } = executionFacts(ctx)
  const whole = encoded({ ...rest, ...(traceparent !== undefined && { traceparent }) })
  return whole.length <= maxBase64 ? whole : encoded(rest)
}

function encoded(custom: Record<string, string>): string {
  return Buffer.from(JSON.stringify({ custom })).toString('base64')
}
