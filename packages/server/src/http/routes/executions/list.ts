import { api } from '@carillon/contract/api'
import { deadLetterGroups, failuresByJob } from '../../../executions/failures.ts'
import { ok, route } from '../../route.ts'
import { timeRangeOf } from '../../time-range.ts'
import { filterOf, pageOf, pageReply } from './page.ts'

export const listExecutions = route(api.listExecutions, async ({ query, caller }, { executions }) =>
  pageReply(await executions.list(caller.tenant, filterOf(query), pageOf(query))),
)

export const listDeadLetters = route(api.listDeadLetters, async ({ query, caller }, { executions }) =>
  pageReply(await executions.deadLetters(caller.tenant, filterOf(query), pageOf(query))),
)

export const groupDeadLetters = route(api.groupDeadLetters, async ({ query, caller }, { database }) =>
  ok(await deadLetterGroups(database, caller.tenant, filterOf(query))),
)

const weekMs = 7 * 86_400_000

export const listFailures = route(api.listFailures, async ({ query, caller }, { database, clock }) => {
  const { from, to } = timeRangeOf(query)
  return ok(await failuresByJob(database, caller.tenant, { from: from ?? (to ?? clock.now()) - weekMs, to }))
})
