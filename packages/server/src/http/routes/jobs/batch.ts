import { CarillonError, type JobInput } from '@carillon/contract'
import { api, JobInput as JobInputSchema } from '@carillon/contract/api'
import { encodeJson } from '@carillon/sdk'
import { eventLoopYielder } from '../../../lib/event-loop-yielder.ts'
import { isoTime } from '../../../lib/iso-time.ts'
import type { BatchItem, Wanted } from '../../../submissions/batch.ts'
import { answerOnce, rendering } from '../../idempotency.ts'
import { problemOf } from '../../problem.ts'
import { route } from '../../route.ts'
import { traceparentOf } from '../../traceparent.ts'
import { checker } from '../../validation.ts'

const check = checker(JobInputSchema, 'body')

/** Each is checked by itself, so that with `partial` an invalid one does not block the others. */
export const createJobs = route(api.createJobs, (request, services) =>
  answerOnce(api.createJobs, request, services, async (key) => {
    await services.tenants.require(request.caller.tenant)
    const { jobs, partial = false } = request.body
    const traceparent = traceparentOf(request.headers)
    const wanted = await allWanted(jobs, traceparent)
    const { once, textOf } = rendering(key, textOfItems)
    const items = await services.submissions.createAll(request.caller, wanted, { partial, once })
    return { status: 201, text: textOf(items) }
  }),
)

/** Problems reported for all items together; beyond that each item reports its first only. */
const mostDetails = 1_000

async function allWanted(items: unknown[], traceparent: string | undefined): Promise<Wanted[]> {
  const yieldIfDue = eventLoopYielder()
  const wanted: Wanted[] = []
  let told = 0
  for (const item of items) {
    const pause = yieldIfDue()
    if (pause) await pause
    const each = wantedOf(item, traceparent)
    if ('error' in each) told += each.error.errors.length
    wanted.push('error' in each && told > mostDetails ? { error: inShort(each.error) } : each)
  }
  return wanted
}

function inShort({ code, errors }: CarillonError): CarillonError {
  const { pointer, message } = errors[0]!
  return new CarillonError(code, { pointer, message })
}

function wantedOf(item: unknown, traceparent: string | undefined): Wanted {
  try {
    check(item)
    const { payload, ...input } = item as JobInput
    input.traceparent ??= traceparent
    return { input, payload: payload === undefined ? null : encodeJson(payload, 'payload') }
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    return { error }
  }
}

/** Put together: of ten thousand items that are alike but for their ids JSON.stringify would look at every part. */
function textOfItems(items: BatchItem[]): string {
  return `{"items":[${items.map(textOfItem).join(',')}]}`
}

function textOfItem(item: BatchItem): string {
  if ('error' in item) return JSON.stringify({ error: problemOf(item.error) })
  const { jobId, state, nextFireAt } = item
  return `{"jobId":"${jobId}","state":"${state}","nextFireAt":${nextFireAt === null ? 'null' : `"${isoTime(nextFireAt)}"`}}`
}
