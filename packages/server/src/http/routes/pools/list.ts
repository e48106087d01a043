import { api } from '@carillon/contract/api'
import { readPools } from '../../../store/pools/pools.ts'
import { cursorOfName, nameOfCursor } from '../../name-cursor.ts'
import { ok, route } from '../../route.ts'
import { ownerOf } from '../workers/owner.ts'

export const listPools = route(api.listPools, async ({ query, caller }, { database, workerSessions }) => {
  const { limit = 100, cursor } = query
  const pools = await readPools(database, {
    viewer: ownerOf(caller),
    silentMs: workerSessions.times.suspectAfterMs,
    after: cursor ? nameOfCursor(cursor) : '',
    limit,
  })
  const last = pools.length === limit ? pools.at(-1) : undefined
  return ok({ items: pools.map(({ pool }) => pool), nextCursor: last ? cursorOfName(last.key) : null })
})
