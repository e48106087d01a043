import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { readPools } from '../../../store/pools/pools.ts'
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
  return ok({ items: pools.map(({ pool }) => pool), nextCursor: last ? cursorOf(last.key) : null })
})

function cursorOf(name: string): string {
  return Buffer.from(name).toString('base64url')
}

function nameOfCursor(cursor: string): string {
  const name = Buffer.from(cursor, 'base64url').toString()
  if (cursorOf(name) === cursor && !name.includes('\0')) return name
  throw new CarillonError('VALIDATION', {
    pointer: '/cursor',
    message: 'is not a cursor of this list',
    hint: 'Give `nextCursor` of the page before, as it is, or leave it out to start over',
  })
}
