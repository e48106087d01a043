/**
 * The demo's graph: five steps, every half minute; one of them runs for each part of a list. A load fails now and then: retry its run from
 * there.
 */
import { setTimeout as after } from 'node:timers/promises'
import type { DagInput } from '@carillon/contract'
import { defineHandler, implementHandler } from '@carillon/sdk'

const extract = defineHandler<{ source: string }>({ name: 'extract_orders' })
const transform = defineHandler<null>({ name: 'transform_orders' })
const loadWarehouse = defineHandler<{ failureRate: number }>({ name: 'load_warehouse' })
const loadSearch = defineHandler<string>({ name: 'load_search' })
const notify = defineHandler<null>({ name: 'notify' })

export const graph = {
  key: 'orders',
  name: 'Orders to the warehouse',
  labels: { team: 'data' },
  deadlineSec: 120,
  steps: [
    { name: 'extract', target: { handler: extract.name }, payload: { source: 'shop' } },
    { name: 'transform', target: { handler: transform.name }, dependsOn: ['extract'] },
    {
      name: 'load_warehouse',
      target: { handler: loadWarehouse.name },
      dependsOn: ['transform'],
      payload: { failureRate: 0.4 },
      retryPolicy: { maxAttempts: 2, backoff: 'FIXED', initialDelayMs: 1_500 },
    },
    {
      name: 'load_search',
      target: { handler: loadSearch.name },
      dependsOn: ['transform'],
      forEach: 'results.transform.parts',
      concurrency: 3,
      maxFailures: 2,
      retryPolicy: { maxAttempts: 1 },
    },
    {
      name: 'notify',
      target: { handler: notify.name },
      dependsOn: ['extract', 'load_warehouse', 'load_search'],
      runIf: 'ALL_DONE',
    },
  ],
} satisfies DagInput

class DiskFull extends Error {
  override readonly name = 'DiskFull'
}

const batches = 5

export const graphHandlers = [
  implementHandler(extract, async (ctx) => {
    await after(between(2_000, 3_500), undefined, { signal: ctx.signal })
    const orders = Math.round(between(800, 1_200))
    ctx.log(`${orders} orders from the ${ctx.payload.source}`)
    return { orders }
  }),

  implementHandler(transform, async (ctx) => {
    for (let batch = 1; batch <= batches; batch++) {
      await after(between(500, 900), undefined, { signal: ctx.signal })
      ctx.heartbeat({ done: batch, total: batches })
    }
    const parts = Array.from({ length: 12 }, (_, at) => `orders-${String(at + 1).padStart(2, '0')}`)
    return { ...(ctx.dag?.results.extract as object), parts }
  }),

  implementHandler(loadWarehouse, async (ctx) => {
    await after(between(2_500, 5_000), undefined, { signal: ctx.signal })
    if (Math.random() < ctx.payload.failureRate) throw new DiskFull('no space left in the staging area')
    return { loaded: ctx.dag?.results.transform ?? null }
  }),

  implementHandler(loadSearch, async (ctx) => {
    await after(between(400, 1_200), undefined, { signal: ctx.signal })
    if (Math.random() < 0.05) throw new Error(`${ctx.payload} cannot be read`)
    return `${ctx.payload} indexed`
  }),

  implementHandler(notify, async (ctx) => {
    await after(400, undefined, { signal: ctx.signal })
    return { told: ctx.dag?.states ?? null }
  }),
]

function between(least: number, most: number): number {
  return least + Math.random() * (most - least)
}
