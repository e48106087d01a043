import { CarillonError, type ErrorDetail } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { reservedPrefix } from '../../../domain/built-in-targets.ts'
import { newId } from '../../../domain/identity.ts'
import { outsideWorkerId } from '../../../domain/outside-worker.ts'
import { created, noContent, route } from '../../route.ts'
import { ownerOf } from './owner.ts'

export const registerWorker = route(api.registerWorker, async ({ body, caller }, { workerSessions, clock }) => {
  const workerId = body.workerId?.toLowerCase() ?? newId(Math.floor(clock.now()))
  check(workerId, body.pools)
  await workerSessions.register({ workerId, name: body.name, pools: body.pools }, ownerOf(caller))
  return created({ workerId, ...workerSessions.times, serverTime: clock.now() })
})

export const deregisterWorker = route(api.deregisterWorker, async ({ params, caller }, { workerSessions }) => {
  const workerId = params.workerId.toLowerCase()
  await workerSessions.require(workerId, ownerOf(caller))
  await workerSessions.deregister(workerId)
  return noContent
})

function check(workerId: string, pools: { pool: string; handlers: string[] }[]): void {
  const problems: ErrorDetail[] = []
  if (workerId === outsideWorkerId) {
    problems.push({ pointer: '/workerId', message: 'workerId is no worker’s id', hint: 'Leave it out to be given one' })
  }
  pools.forEach(({ pool, handlers }, at) => {
    if (pool.startsWith(reservedPrefix)) problems.push(reserved(`/pools/${at}/pool`))
    if (pools.findIndex((other) => other.pool === pool) < at) {
      problems.push({
        pointer: `/pools/${at}/pool`,
        message: 'a pool is named twice',
        hint: 'Put its handlers together',
      })
    }
    handlers.forEach((handler, n) => {
      if (handler.startsWith(reservedPrefix)) problems.push(reserved(`/pools/${at}/handlers/${n}`))
    })
  })
  if (problems.length > 0) throw new CarillonError('VALIDATION', problems)
}

export function reserved(pointer: string): ErrorDetail {
  return {
    pointer,
    message: `begins with ${reservedPrefix}`,
    hint: 'Such names are Carillon’s own; choose another',
  }
}
