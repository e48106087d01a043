import { priorities } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { readLoad } from '../../../store/pools/load.ts'
import { readPools } from '../../../store/pools/pools.ts'
import { ok, route } from '../../route.ts'
import { ownerOf } from '../workers/owner.ts'

const mostPools = 100

export const getLoad = route(api.getLoad, async ({ caller }, { database, workerSessions }) => {
  const pools = await readPools(database, {
    viewer: ownerOf(caller),
    silentMs: workerSessions.times.suspectAfterMs,
    after: '',
    limit: mostPools,
  })
  const load = await readLoad(
    database,
    pools.map(({ key }) => key),
  )
  return ok({
    pools: pools.map(({ key, pool }) => {
      const lanes = load
        .filter((lane) => lane.pool === key && lane.ready + lane.running + lane.retrying > 0)
        .sort((a, b) => a.lane - b.lane)
        .map(({ lane, pool: _, ...depth }) => ({ priority: priorities[lane]!, ...depth }))
      const sum = (of: 'ready' | 'running' | 'retrying') => lanes.reduce((total, lane) => total + lane[of], 0)
      const waited = lanes.flatMap(({ oldestReadyMs }) => (oldestReadyMs === null ? [] : [oldestReadyMs]))
      return {
        ...pool,
        ...{ ready: sum('ready'), running: sum('running'), retrying: sum('retrying') },
        oldestReadyMs: waited.length === 0 ? null : Math.max(...waited),
        lanes,
      }
    }),
    complete: pools.length < mostPools,
  })
})
