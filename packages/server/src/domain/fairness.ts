/**
 * Fair sharing by tags (start-time fair queueing). A flow is a tenant in a pool and lane. Each execution gets
 * tag = max(V, F), and F = tag + cost / weight, where V is the largest tag leased in the lane and F is where the flow's
 * last execution ends; LEASE takes the smallest tags. So a tenant with a million waiting and one with a single execution
 * take turns, an idle tenant saves nothing up, and LEASE stays a scan of an index. A newcomer waits for at most one start
 * of each other tenant; tags by the end of an execution instead of its start let it wait for two
 * (docs/decisions/0009-tags-by-start.md). A tenant of weight 3 starts three executions for each one of weight 1
 * (docs/decisions/0063-tenants-and-weights.md).
 */
export interface Flow {
  pool: string
  lane: number
  tenant: string
}

/** What one execution costs at weight 1. */
export const unitCost = 65_536

/** The weight of a tenant's share, from 1 to 1,000. */
export type WeightOf = (tenant: string) => number

export const equalWeights: WeightOf = () => 1

/** What one execution costs: a whole number, so at weight 1,000 it is 0.7 % more than a thousandth. */
export function costOf(weight: number): number {
  return Math.round(unitCost / weight)
}

export function flowKey(flow: Flow): string {
  return `${flow.pool}\u0000${flow.lane}\u0000${flow.tenant}`
}

/** One reservation per flow, sorted as the database locks them. */
export interface TagRequest extends Flow {
  count: number
  /** Of one execution. */
  cost: number
}

export function groupByFlow(items: readonly Flow[], weightOf = equalWeights): TagRequest[] {
  const byKey = new Map<string, TagRequest>()
  for (const item of items) {
    const key = flowKey(item)
    const request = byKey.get(key)
    if (request) request.count++
    else {
      const { pool, lane, tenant } = item
      byKey.set(key, { pool, lane, tenant, count: 1, cost: costOf(weightOf(tenant)) })
    }
  }
  return [...byKey.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, request]) => request)
}

/** Spreads the reserved ranges over the items, first come, first tag. `ends`, of the ranges, in the order of `groupByFlow`. */
export function tagsFor(items: readonly Flow[], requests: readonly TagRequest[], ends: readonly number[]): number[] {
  const flows = new Map<string, { next: number; cost: number }>()
  requests.forEach((request, i) => {
    const { count, cost } = request
    flows.set(flowKey(request), { next: ends[i]! - count * cost, cost })
  })
  return items.map((item) => {
    const flow = flows.get(flowKey(item))!
    const tag = flow.next
    flow.next += flow.cost
    return tag
  })
}
