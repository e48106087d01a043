import { api } from '@carillon/contract/api'
import { readTenants } from '../../../store/tenants/tenants.ts'
import { cursorOfName, nameOfCursor } from '../../name-cursor.ts'
import { ok, route } from '../../route.ts'

export const listTenants = route(api.listTenants, async ({ query }, { database }) => {
  const { limit = 100, cursor } = query
  const items = await readTenants(database, { after: cursor ? nameOfCursor(cursor) : '', limit })
  const last = items.length === limit ? items.at(-1) : undefined
  return ok({ items, nextCursor: last ? cursorOfName(last.name) : null })
})
