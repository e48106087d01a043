// A worker and a client of the published SDK: 100 executions, one retried, one cancelled, one in a thread of its own.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createClient, createWorker, defineHandler, implementHandler } from '@carillon/sdk'

const [url] = process.argv.slice(2)
const double = defineHandler({ name: 'double' })
const flaky = defineHandler({ name: 'flaky' })
const patient = defineHandler({ name: 'patient' })
const apart = defineHandler({ name: 'apart' })
writeFileSync('apart.mjs', 'export default async ({ payload }) => payload.toUpperCase()\n')

const begun = Promise.withResolvers()
const worker = createWorker({
  urls: url,
  handlers: [
    implementHandler(double, ({ payload }) => payload * 2, { concurrency: 20 }),
    implementHandler(flaky, ({ attempt }) => {
      if (attempt === 1) throw new Error('once')
      return attempt
    }),
    implementHandler(patient, ({ signal }) => {
      begun.resolve()
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }),
    implementHandler(apart, new URL('./apart.mjs', import.meta.url), { isolation: 'THREAD' }),
  ],
})
await worker.start()
const client = createClient({ urls: url })
const wait = { waitMs: 30_000 }

const handles = await client.enqueueMany(
  double,
  Array.from({ length: 100 }, (_, i) => i),
)
assert.deepEqual(
  await Promise.all(handles.map((handle) => handle.result(wait))),
  handles.map((_, i) => i * 2),
)
const retried = await client.enqueue(flaky, null, { retryPolicy: { initialDelayMs: 1, jitter: 0 } })
assert.equal(await retried.result(wait), 2)
const cancelled = await client.enqueue(patient, null)
await begun.promise
assert.equal(await client.cancel(cancelled.executionId), 'CANCELLING')
assert.equal((await cancelled.ended(wait)).state, 'CANCELLED')
assert.equal(await (await client.enqueue(apart, 'ada')).result(wait), 'ADA')
assert.equal(worker.health().healthy, true)
await worker.stop()
await client.close()
console.log('103 executions as expected')
