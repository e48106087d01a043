/**
 * A step that runs once for each of 500 files, twenty at a time. Five files are broken: as many as the step allows to fail, so the run goes on
 * with the rest.
 *
 *   DATABASE_URL=postgres://… npx node examples/fan-out/main.ts
 */

import { defineDag } from '@carillon/sdk'
import { createCarillon, defineHandler, eachOf } from '@carillon/server'

const find = defineHandler<null, null, { files: string[] }>({ name: 'find' })
const load = defineHandler<string, string, number>({ name: 'load' })
const merge = defineHandler<null, null, string, string, { load: (number | null)[] }>({
  ...{ name: 'merge', needs: { load: eachOf(load) } },
})

const databaseUrl = process.env.DATABASE_URL
const carillon = await createCarillon({
  ...(databaseUrl ? { databaseUrl } : { embedded: { dataDir: './data' } }),
  logLevel: 'silent',
})
const files = Array.from({ length: 500 }, (_, at) => `orders-${String(at).padStart(3, '0')}.csv`)
carillon.handle(find, () => ({ files }))
carillon.handle(load, ({ payload: file }) => {
  if (file.endsWith('99.csv')) throw new Error(`${file} is broken`)
  return file.length
})
carillon.handle(merge, ({ dag }) => {
  const loaded = dag.results.load.filter((bytes) => bytes !== null)
  return `${loaded.length} files, ${loaded.reduce((sum, bytes) => sum + bytes, 0)} bytes`
})
await carillon.start()

const imports = defineDag({ key: 'imports' })
const found = imports.step('find', find)
const loaded = imports.each('load', load, {
  ...{ of: found, list: 'files', concurrency: 20, maxFailures: 5, retryPolicy: { maxAttempts: 1 } },
})
imports.step('merge', merge, { after: [loaded] })
await carillon.dags.create(imports.build())

const { runId } = await carillon.dags.run('imports')
const { state, steps } = await carillon.dagRuns.wait(runId, { waitMs: 60_000 })
const items = steps.find(({ name }) => name === 'load')!.run!
const { executionId } = steps.find(({ name }) => name === 'merge')!
console.log(`${state}: ${items.doneCount} files, ${items.failedCount} broken`)
console.log((await carillon.executions.get(executionId)).result)
await carillon.stop()
