/** From what was computed for a tenant to the answer to one question. */
import type { Forecast } from '@carillon/contract/api'
import { type ForecastTable, type Step, stepMs, type TimeRange } from '../domain/schedule/forecast.ts'

export interface ForecastQuestion extends TimeRange {
  step: Step
  /** Only this pool; null: all. */
  pool: string | null
  /** Slots of live workers, by pool. */
  slots: ReadonlyMap<string, number>
}

const mostPools = 20
const mostCollisions = 50
const mostSampled = 10

/** `from` and `to` are moved to where buckets begin and end. */
export function forecastView(table: ForecastTable, question: ForecastQuestion): Forecast {
  const { step, pool: only, slots } = question
  const from = Math.floor(question.from / stepMs[step]) * stepMs[step]
  const to = Math.ceil(question.to / stepMs[step]) * stepMs[step]
  const sums = new Map<number, number>()
  const pools: Forecast['pools'] = []
  for (const pool of table.pools) {
    if (only !== null && pool !== only) continue
    const load = poolView(table, pool, { ...question, from, to }, slots.get(pool) ?? 0)
    for (const { at, fires } of load.raw) sums.set(at, (sums.get(at) ?? 0) + fires)
    if (load.view.fires > 0) pools.push(load.view)
  }
  const buckets = [...sums].sort(([a], [b]) => a - b).map(([at, fires]) => ({ at: iso(at), fires }))
  return {
    ...{ from: iso(from), to: iso(to), step, computedAt: iso(table.now), jobs: table.jobs, leftOut: table.leftOut },
    fires: buckets.reduce((sum, { fires }) => sum + fires, 0),
    buckets,
    pools: pools.sort((a, b) => b.fires - a.fires).slice(0, mostPools),
    collisions: table.collisions({ from, to }, mostCollisions).map(({ at, fires, samples }) => ({
      ...{ at: iso(at), fires, jobs: samples.flat().slice(0, mostSampled) },
    })),
  }
}

function poolView(table: ForecastTable, pool: string, { step, from, to }: ForecastQuestion, slots: number) {
  const meanMs = table.meanMs(pool)
  const raw = [...table.buckets(pool, step, { from, to })]
  const buckets = raw.map(({ at, fires, workMs }) => {
    const busy = meanMs === null ? null : Math.round((workMs / stepMs[step]) * 1_000) / 1_000
    return { at: iso(at), fires, busy, saturated: slots === 0 || (busy !== null && busy >= slots) }
  })
  const fires = raw.reduce((sum, bucket) => sum + bucket.fires, 0)
  return { raw, view: { pool, fires, slots, meanMs: meanMs && Math.round(meanMs * 10) / 10, buckets } }
}

function iso(at: number): string {
  return new Date(at).toISOString()
}
