import { api } from '@carillon/contract/api'
import { operationViewOf } from '../../../operations/view.ts'
import { ok, route } from '../../route.ts'

export const getOperation = route(api.getOperation, async ({ params, caller }, { operations }) =>
  ok(operationViewOf(await operations.read(caller.tenant, params.operationId.toLowerCase()))),
)

export const cancelOperation = route(api.cancelOperation, async ({ params, caller }, { operations }) =>
  ok(operationViewOf(await operations.cancel(caller, params.operationId.toLowerCase()))),
)
