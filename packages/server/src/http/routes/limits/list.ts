import { api } from '@carillon/contract/api'
import { readLimits } from '../../../store/limits/declared.ts'
import { cursorOfName, nameOfCursor } from '../../name-cursor.ts'
import { ok, route } from '../../route.ts'
import { limitOwner } from './owner.ts'

export const listLimits = route(api.listLimits, async ({ query, caller }, { database }) => {
  const { limit = 100, cursor } = query
  const owner = limitOwner(caller)
  const items = await readLimits(database, { owner, after: cursor ? nameOfCursor(cursor) : '', limit })
  const last = items.length === limit ? items.at(-1) : undefined
  return ok({ items, nextCursor: last ? cursorOfName(last.name) : null })
})
