import { CarillonError, type JobInput } from '@carillon/contract'
import { api, JobInput as JobInputSchema } from '@carillon/contract/api'
import { encodeJson } from '@carillon/sdk'
import { breather } from '../../../lib/breather.ts'
import type { BatchItem, Wanted } from '../../../submissions/batch.ts'
import { answerOnce, rendering } from '../../idempotency.ts'
import { problemOf } from '../../problem.ts'
import { route } from '../../route.ts'
import { traceparentOf } from '../../traceparent.ts'
import { checker } from '../../validation.ts'

const check = checker(JobInputSchema, 'body')

/** Each is checked by itself, so that with `partial` one that is wrong does not stand in the way of the others. */
export const createJobs = route(api.createJobs, (request, { database, submissions }) =>
  answerOnce(api.createJobs, request, database, async (key) => {
    const { jobs, partial = false } = request.body
    const traceparent = traceparentOf(request.headers)
    const wanted = await allWanted(jobs, traceparent)
    const { once, textOf } = rendering(key, textOfItems)
    const items = await submissions.createAll(request.caller, wanted, { partial, once })
    return { status: 201, text: textOf(items) }
  }),
)

/** What is told of all items together; after that each is told the first thing only. */
const mostDetails = 1_000

async function allWanted(items: unknown[], traceparent: string | undefined): Promise<Wanted[]> {
  const breathe = breather()
  const wanted: Wanted[] = []
  let told = 0
  for (const item of items) {
    const pause = breathe()
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
    const text = payload === undefined ? null : encodeJson(payload, 'payload')
    return { input: { ...input, traceparent: input.traceparent ?? traceparent }, payload: text }
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    return { error }
  }
}

function textOfItems(items: BatchItem[]): string {
  return JSON.stringify({
    items: items.map((item) => {
      if ('error' in item) return { error: problemOf(item.error) }
      const { jobId, state, nextFireAt } = item
      return { jobId, state, nextFireAt: nextFireAt === null ? null : new Date(nextFireAt) }
    }),
  })
}
