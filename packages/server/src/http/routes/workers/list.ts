import { api } from '@carillon/contract/api'
import { cursorOf, idOfCursor } from '../../../executions/cursor.ts'
import { readWorkers } from '../../../store/workers/list.ts'
import { ok, route } from '../../route.ts'
import { ownerOf } from './owner.ts'
import { viewOf } from './view.ts'

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
  return ok({ items: workers.map(viewOf), nextCursor: last ? cursorOf(last.workerId) : null })
})
