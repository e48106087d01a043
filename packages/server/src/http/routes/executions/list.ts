import { api } from '@carillon/contract/api'
import { route } from '../../route.ts'
import { filterOf, pageOf, pageReply } from './page.ts'

export const listExecutions = route(api.listExecutions, async ({ query, caller }, { executions }) =>
  pageReply(await executions.list(caller.tenant, filterOf(query), pageOf(query))),
)

export const listDeadLetters = route(api.listDeadLetters, async ({ query, caller }, { executions }) =>
  pageReply(await executions.deadLetters(caller.tenant, filterOf(query), pageOf(query))),
)
