import { api } from '@carillon/contract/api'
import { ok, route } from '../../route.ts'
import { timeRangeOf } from '../../time-range.ts'

export const getStats = route(api.getStats, async ({ query, caller }, { stats }) => {
  const { from, to } = timeRangeOf(query)
  const { step, pool, handler } = query
  return ok(await stats.read(caller.tenant, { step, pool, handler, from: from ?? undefined, to: to ?? undefined }))
})
