/**
 * Fair sharing by tags (start-time fair queueing). A flow is a tenant in a pool and lane. Each execution gets
 * tag = max(V, F), and F = tag + cost / weight, where V is the largest tag leased in the lane and F is where the flow's
 * last execution ends; LEASE takes the smallest tags. So a tenant with a million waiting and one with a single execution
 * take turns, an idle tenant saves nothing up, and LEASE stays a scan of an index. A newcomer waits for at most one start
 * of each other tenant; tags by the end of an execution instead of its start let it wait for two
 * (docs/decisions/0009-tags-by-start.md).
 */
export interface Flow {
  pool: string
  lane: number
  tenant: string
}

/** What one execution costs at weight 1; room below it for weights up to 65,536. */
export const unitCost = 65_536

export function flowKey(flow: Flow): string {
  return `${flow.pool}\u0000${flow.lane}\u0000${flow.tenant}`
}

/** One reservation per flow, sorted as the database locks them. */
export interface TagRequest extends Flow {
  count: number
}

export function groupByFlow(items: readonly Flow[]): TagRequest[] {
  const byKey = new Map<string, TagRequest>()
  for (const item of items) {
    const key = flowKey(item)
    const request = byKey.get(key)
    if (request) request.count++
    else byKey.set(key, { pool: item.pool, lane: item.lane, tenant: item.tenant, count: 1 })
  }
  return [...byKey.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, request]) => request)
}

/** Spreads the reserved ranges over the items, first come, first tag. `ends`, of the ranges, in the order of `groupByFlow`. */
export function tagsFor(items: readonly Flow[], requests: readonly TagRequest[], ends: readonly number[]): number[] {
  const next = new Map<string, number>()
  requests.forEach((request, i) => {
    next.set(flowKey(request), ends[i]! - request.count * unitCost)
  })
  return items.map((item) => {
    const key = flowKey(item)
    const tag = next.get(key)!
    next.set(key, tag + unitCost)
    return tag
  })
}

/**
 * Takes up to `max` items in turns over tenants, at most half of them from one tenant while others have work.
 * `queues` is changed: what was taken is gone from it, and tenants that were served move behind the others, so that the next
 * call goes on where this one ended.
 */
export function takeInTurns<T>(queues: Map<string, T[]>, max: number): T[] {
  const taken: T[] = []
  while (taken.length < max && queues.size > 0) {
    // Rounded down: nobody's share is cut short, and what is left over is dealt out one by one.
    const share = Math.max(1, Math.floor((max - taken.length) / queues.size))
    for (const [tenant, queue] of [...queues]) {
      taken.push(...queue.splice(0, share))
      queues.delete(tenant)
      if (queue.length > 0) queues.set(tenant, queue)
      if (taken.length >= max) break
    }
  }
  return taken
}
