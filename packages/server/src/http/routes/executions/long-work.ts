/** Answers to requests for long work. */
import type { ApiOperation, api, DryRun } from '@carillon/contract/api'
import type { Prepared } from '../../../operations/operations.ts'
import { operationViewOf } from '../../../operations/view.ts'
import type { OperationRecord } from '../../../store/operations/operations.ts'
import { answerOnce, rendering } from '../../idempotency.ts'
import { ok, type Reply, type RouteRequest } from '../../route.ts'
import type { Services } from '../../services.ts'

type LongWorkRequest =
  | RouteRequest<typeof api.cancelExecutions>
  | RouteRequest<typeof api.copyExecutions>
  | RouteRequest<typeof api.backfillJob>

/** With `dryRun` what it would touch, else it begins. A repeated request gets the first answer again. */
export async function longWork(
  operation: ApiOperation,
  request: LongWorkRequest,
  services: Services,
  prepare: () => Promise<Prepared>,
): Promise<Reply<DryRun>> {
  const { ratePerSec, dryRun } = request.body
  if (dryRun) return ok((await prepare()).count)
  const reply = await answerOnce(operation, request, services, async (key) => {
    const { once, textOf } = rendering(key, (begun: OperationRecord) => JSON.stringify(operationViewOf(begun)))
    const prepared = await prepare()
    return { status: 202, text: textOf(await prepared.begin({ ratePerSec, once })) }
  })
  return { ...reply, status: 202 }
}
