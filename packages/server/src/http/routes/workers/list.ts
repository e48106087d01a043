import { api, type Worker } from '@carillon/contract/api'
import { cursorOf, idOfCursor } from '../../../executions/cursor.ts'
import { type ListedWorker, readWorkers } from '../../../store/workers/list.ts'
import { ok, route } from '../../route.ts'
import { ownerOf } from './owner.ts'

const first = '00000000-0000-0000-0000-000000000000'

export const listWorkers = route(api.listWorkers, async ({ query, caller }, { database, workerSessions }) => {
  const { limit = 100, cursor, pool, state } = query
  const workers = await readWorkers(database, {
    viewer: ownerOf(caller),
    silentMs: workerSessions.times.suspectAfterMs,
    pool: pool ?? null,
    live: state === undefined ? null : state === 'LIVE',
    after: cursor ? idOfCursor(cursor) : first,
    limit,
  })
  const last = workers.length === limit ? workers.at(-1) : undefined
  return ok({ items: workers.map(view), nextCursor: last ? cursorOf(last.workerId) : null })
})

function view({ live, registeredAt, seenAt, ...worker }: ListedWorker): Worker {
  return {
    ...worker,
    state: live ? 'LIVE' : 'SUSPECT',
    registeredAt: new Date(registeredAt).toISOString(),
    seenAt: new Date(seenAt).toISOString(),
  }
}
