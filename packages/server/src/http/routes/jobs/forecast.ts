import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { forecastView } from '../../../forecast/view.ts'
import { readPools } from '../../../store/pools/pools.ts'
import { ok, route } from '../../route.ts'
import { timeRangeOf } from '../../time-range.ts'

const aheadMs = { MINUTE: 86_400_000, HOUR: 30 * 86_400_000 } as const
const aheadText = { MINUTE: '24 hours by minute', HOUR: '30 days by hour' } as const
const mostPools = 10_000

export const getForecast = route(api.getForecast, async ({ query, caller }, services) => {
  const { database, clock, forecasts, workerSessions } = services
  const { step = 'HOUR', pool = null } = query
  const { tenant } = caller
  const now = Math.floor(clock.now())
  const range = timeRangeOf(query)
  const to = range.to ?? now + aheadMs[step]
  if (to <= now) throw outOfRange('lies in the past', 'What has fired is among the executions: GET /v1/executions')
  // A minute of grace, for those who ask for what ends exactly then by a clock that is ahead.
  if (to > now + aheadMs[step] + 60_000) throw outOfRange('is too far ahead', `Ask for at most ${aheadText[step]}`)
  const from = Math.max(range.from ?? now, now)
  const table = await forecasts.of(tenant)
  const { suspectAfterMs: silentMs } = workerSessions.times
  const pools = await readPools(database, { viewer: tenant, silentMs, after: '', limit: mostPools })
  const slots = new Map(pools.map(({ pool: { name, slots } }) => [name, slots]))
  return ok(forecastView(table, { from, to, step, pool, slots }))
})

function outOfRange(message: string, hint: string): CarillonError {
  return new CarillonError('TIME_OUT_OF_RANGE', { pointer: '/to', message, hint })
}
