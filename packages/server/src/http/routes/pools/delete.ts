import { CarillonError, defaults } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { reservedPrefix } from '../../../domain/built-in-targets.ts'
import * as store from '../../../store/pools/pools.ts'
import { noContent, route } from '../../route.ts'
import { changeablePool } from './find.ts'

const inUse = {
  JOBS: ['jobs name it', 'Change or delete them first: GET /v1/jobs?pool=…'],
  EXECUTIONS: ['unfinished executions are in it', 'Let them end or cancel them first: GET /v1/executions?pool=…'],
  WORKERS: ['live workers serve it', 'Stop them first: GET /v1/workers?pool=…'],
} as const

export const deletePool = route(api.deletePool, async ({ params, caller }, services) => {
  const { name } = params
  const { database, workerSessions } = services
  const { key, pool } = await changeablePool(name, caller, services)
  if (pool.tenant === null && (name === defaults.pool || name.startsWith(reservedPrefix)))
    throw new CarillonError('STATE_CONFLICT', { message: `the pool ${name} always exists`, hint: 'Pause it instead' })
  const verdict = await store.deletePool(database, {
    key,
    actor: caller.actor,
    silentMs: workerSessions.times.lostAfterMs,
  })
  if (verdict === 'DELETED' || verdict === 'UNKNOWN') return noContent
  const [message, hint] = inUse[verdict]
  throw new CarillonError('STATE_CONFLICT', { message: `the pool ${name} is in use: ${message}`, hint })
})
