import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { firstId } from '../../../store/executions/select.ts'
import { readWorkers } from '../../../store/workers/list.ts'
import { readHeldBy } from '../../../store/workers/read-held-by.ts'
import { ok, route } from '../../route.ts'
import { ownerOf } from './owner.ts'
import { viewOf } from './view.ts'

const mostHeld = 100

/** Of a worker of all tenants, what it holds of one. */
export const getWorker = route(api.getWorker, async ({ params, caller }, { database, workerSessions }) => {
  const { workerId } = params
  const silentMs = workerSessions.times.suspectAfterMs
  const any = { pool: null, live: null, after: firstId, limit: 1 }
  const [worker] = await readWorkers(database, { viewer: ownerOf(caller), silentMs, workerId, ...any })
  if (worker === undefined) {
    throw new CarillonError('WORKER_UNKNOWN', {
      message: `there is no worker ${workerId}`,
      hint: 'It has left or was taken for lost; GET /v1/workers lists those there are',
    })
  }
  const held = await readHeldBy(database, { workerId, tenant: caller.tenant, limit: mostHeld + 1 })
  return ok({
    ...viewOf(worker),
    held: held.slice(0, mostHeld).map((each) => ({ ...each, leasedAt: new Date(each.leasedAt).toISOString() })),
    complete: held.length <= mostHeld,
  })
})
