/**
 * Everything in one program: the node, a worker and a schedule.
 *
 *   npx node examples/library-mode/main.ts
 *
 * DATABASE_URL names a PostgreSQL; without it one is started in ./data/library-mode.
 */
import { createCarillon, defineHandler } from '@carillon/server'
import { z } from 'zod'

const invoice = defineHandler({
  name: 'invoice',
  payload: z.object({ customer: z.string(), cents: z.int().positive() }),
})
const tick = defineHandler<{ of: string }>({ name: 'tick' })

const databaseUrl = process.env.DATABASE_URL
const carillon = await createCarillon(databaseUrl ? { databaseUrl } : { embedded: { dataDir: './data/library-mode' } })

const ticks = Promise.withResolvers<void>()
let count = 0
carillon.handle(invoice, { concurrency: 10 }, async ({ payload, log, executionId }) => {
  log(`charging ${payload.customer}`)
  return { receipt: executionId.slice(-6), cents: payload.cents }
})
carillon.handle(tick, async ({ scheduledFor }) => {
  console.log(`tick of ${scheduledFor.toISOString()}`)
  if (++count === 2) ticks.resolve()
})
await carillon.start()

// With a key, running this program again changes nothing.
await carillon.schedule(tick, { of: 'the clock' }, { key: 'tick', every: 'PT1S' })

const handle = await carillon.enqueue(invoice, { customer: 'Ada', cents: 4_200 })
console.log('invoice', await handle.result())

await ticks.promise
await carillon.stop()
