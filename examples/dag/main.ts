/**
 * Five steps: extract, transform, two loads at the same time, notify. One load fails twice and is retried; the others run once.
 *
 *   DATABASE_URL=postgres://… npx node examples/dag/main.ts
 */
import { createCarillon, defineHandler } from '@carillon/server'

const extract = defineHandler<null, null, { rows: number[] }>({ name: 'extract' })
const transform = defineHandler<null, null, { rows: number[] }>({ name: 'transform' })
const load = defineHandler<{ into: string }, { into: string }, { loaded: number }>({ name: 'load' })
const notify = defineHandler<null, null, string>({ name: 'notify' })

const databaseUrl = process.env.DATABASE_URL
const carillon = await createCarillon(databaseUrl ? { databaseUrl } : { embedded: { dataDir: './data' } })
carillon.handle(extract, async ({ dag }) => ({ rows: Array.from({ length: Number(dag?.payload) }, (_, i) => i) }))
carillon.handle(transform, async ({ dag }) => {
  const { rows } = dag!.results.extract as { rows: number[] }
  return { rows: rows.map((row) => row * 2) }
})
carillon.handle(load, async ({ dag, payload, attempt, executionId }) => {
  if (payload.into === 'lake' && attempt < 3) throw new Error(`the lake is frozen (attempt ${attempt})`)
  const { rows } = dag!.results.transform as { rows: number[] }
  console.log(`${rows.length} rows into the ${payload.into} as ${executionId}`)
  return { loaded: rows.length }
})
carillon.handle(notify, async ({ dag }) => `loaded: ${JSON.stringify(dag?.results)}`)
await carillon.start()

const retryPolicy = { maxAttempts: 3, initialDelayMs: 50 }
await carillon.dags.create({
  key: 'nightly',
  steps: [
    { name: 'extract', target: { handler: 'extract' } },
    { name: 'transform', target: { handler: 'transform' }, dependsOn: ['extract'] },
    { name: 'warehouse', target: { handler: 'load' }, payload: { into: 'warehouse' }, dependsOn: ['transform'] },
    { name: 'lake', target: { handler: 'load' }, payload: { into: 'lake' }, dependsOn: ['transform'], retryPolicy },
    { name: 'notify', target: { handler: 'notify' }, dependsOn: ['warehouse', 'lake'] },
  ],
})
const { runId } = await carillon.dags.run('nightly', { payload: 3 })
const { state, steps } = await carillon.dagRuns.wait(runId, { waitMs: 30_000 })
console.log(`${state}: ${steps.map(({ name, attempt }) => `${name} ${attempt}`).join(', ')}`)
const notified = steps.find(({ name }) => name === 'notify')
console.log((await carillon.executions.get(notified!.executionId)).result)
await carillon.stop()
