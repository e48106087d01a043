/** The DAG target: starts a run, and leaves the outcome to its end. */
import { JsonText } from '@carillon/contract'
import { Deferred, type HandlerContext } from '@carillon/sdk'

/** Starts the run of an execution, or finds the one that an earlier attempt has started. */
export interface RunStarter {
  start(standing: {
    executionId: string
    fence: number
    tenant: string
    labels: Readonly<Record<string, string>>
    traceparent: string | null
    payload: unknown
    dag: string | null
    signal: AbortSignal
  }): Promise<'WAITS' | { result: string }>
}

export async function runDag(ctx: HandlerContext, starter: RunStarter): Promise<JsonText> {
  const { executionId, fence, tenant, labels, traceparent, payload, signal } = ctx
  const dag = (ctx.target as { dag?: string } | null)?.dag ?? null
  const started = await starter.start({ executionId, fence, tenant, labels, traceparent, payload, dag, signal })
  if (started === 'WAITS') throw new Deferred()
  return new JsonText(started.result)
}
