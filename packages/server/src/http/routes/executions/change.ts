import { api } from '@carillon/contract/api'
import { jsonOf } from '../../../executions/view.ts'
import { noContent, ok, route } from '../../route.ts'

export const cancelExecution = route(api.cancelExecution, async ({ params, caller }, { executions }) => {
  const executionId = params.executionId.toLowerCase()
  const why = { reason: 'CANCELLED', actor: caller.actor }
  return ok({ executionId, outcome: await executions.cancel(caller.tenant, executionId, why) })
})

export const retryExecution = route(api.retryExecution, async ({ params, caller }, { executions }) => {
  const id = params.executionId.toLowerCase()
  await executions.replay(caller.tenant, id, caller.actor)
  return { status: 200, text: jsonOf(await executions.read(caller.tenant, id, { current: true })) }
})

export const purgeDeadLetter = route(api.purgeDeadLetter, async ({ params, caller }, { executions }) => {
  await executions.purge(caller.tenant, params.executionId.toLowerCase(), caller.actor)
  return noContent
})
