import { api } from '@carillon/contract/api'
import { cursorOfName, nameOfCursor } from '../../name-cursor.ts'
import { ok, route } from '../../route.ts'
import { timeRangeOf } from '../../time-range.ts'

export const getTenantUsage = route(api.getTenantUsage, async ({ params, query }, { stats }) =>
  ok(await stats.usage.read(params.tenant, { ...timeRangeOf(query), byPool: query.byPool ?? false })),
)

export const getUsage = route(api.getUsage, async ({ query, caller }, { stats }) =>
  ok(await stats.usage.read(caller.tenant, { ...timeRangeOf(query), byPool: query.byPool ?? false })),
)

export const listUsage = route(api.listUsage, async ({ query }, { stats }) => {
  const { limit = 100, cursor } = query
  const after = cursor ? nameOfCursor(cursor) : ''
  const { items, last } = await stats.usage.list(timeRangeOf(query), { after, limit })
  return ok({ items, nextCursor: last === null ? null : cursorOfName(last) })
})
