/** What every target outside is told about the execution, under the same names. */
import type { HandlerContext } from '@carillon/sdk'
import { stepFacts } from './given.ts'

export function executionHeaders(ctx: HandlerContext): Record<string, string> {
  const { runId, step, itemIndex } = stepFacts(ctx)
  return {
    'carillon-execution-id': ctx.executionId,
    'carillon-job-id': ctx.jobId,
    'carillon-tenant': asciiOf(ctx.tenant),
    'carillon-attempt': `${ctx.attempt}`,
    'carillon-fence': `${ctx.fence}`,
    'carillon-scheduled-for': ctx.scheduledFor.toISOString(),
    ...(runId !== undefined && { 'carillon-run-id': runId }),
    ...(step !== undefined && { 'carillon-step': step }),
    ...(itemIndex !== undefined && { 'carillon-item-index': itemIndex }),
    ...(ctx.traceparent !== null && traceparent.test(ctx.traceparent) && { traceparent: ctx.traceparent }),
  }
}

const traceparent = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[\x21-\x7e]*)?$/

/** A header holds ASCII safely; everything else is percent-encoded, so that no two names become one. */
function asciiOf(text: string): string {
  return text.replace(/[^\x21-\x7e]|%/gu, encodeURIComponent)
}
