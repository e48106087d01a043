// Library mode of the published server on the embedded PostgreSQL, and a test's clock on another one.
import assert from 'node:assert/strict'
import { createCarillon, defineHandler, implementHandler } from '@carillon/server'
import { createTestCarillon } from '@carillon/server/testing'

const [dataDir] = process.argv.slice(2)
const greet = defineHandler({ name: 'greet' })
const greeting = implementHandler(greet, ({ payload }) => `Hello ${payload.name}`)

const carillon = await createCarillon({ embedded: { dataDir } })
carillon.handle(greeting)
await carillon.start()
const handle = await carillon.enqueue(greet, { name: 'Ada' })
assert.equal(await handle.result({ waitMs: 30_000 }), 'Hello Ada')
await carillon.stop()

const test = await createTestCarillon({ now: '2030-01-01T00:00:00Z', handlers: [greeting] })
await test.schedule(greet, { name: 'Bob' }, { cron: '0 3 * * *' })
await test.advance('P2D')
assert.deepEqual(
  test.runs().map(({ result }) => result),
  ['Hello Bob', 'Hello Bob'],
)
await test.close()
console.log('library mode on the embedded PostgreSQL')
