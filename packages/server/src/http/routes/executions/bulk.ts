import { api } from '@carillon/contract/api'
import type { BulkWork } from '../../../operations/bulk.ts'
import { type RouteRequest, route } from '../../route.ts'
import type { Services } from '../../services.ts'
import { longWork } from './long-work.ts'

type BulkRequest = RouteRequest<typeof api.cancelExecutions>

function bulk(work: Exclude<BulkWork, 'COPY'>, { body, caller }: BulkRequest, { operations }: Services) {
  return () => operations.bulk(caller, work, body.filter)
}

export const cancelExecutions = route(api.cancelExecutions, (request, services) =>
  longWork(api.cancelExecutions, request, services, bulk('CANCEL', request, services)),
)

export const retryExecutions = route(api.retryExecutions, (request, services) =>
  longWork(api.retryExecutions, request, services, bulk('RETRY', request, services)),
)

export const copyExecutions = route(api.copyExecutions, (request, services) =>
  longWork(api.copyExecutions, request, services, () => services.operations.copy(request.caller, request.body)),
)

export const replayDeadLetters = route(api.replayDeadLetters, (request, services) =>
  longWork(api.replayDeadLetters, request, services, bulk('REPLAY_DEAD_LETTERS', request, services)),
)

export const purgeDeadLetters = route(api.purgeDeadLetters, (request, services) =>
  longWork(api.purgeDeadLetters, request, services, bulk('PURGE_DEAD_LETTERS', request, services)),
)
