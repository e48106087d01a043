import { afterAll, beforeAll, expect, it } from 'vitest'
import { lease, leasedExecutions, readReadyKeys } from '../../packages/server/src/store/executions/lease.ts'
import { openStore, type TestStore } from '../support/store.ts'

let store: TestStore
beforeAll(async () => {
  store = await openStore()
})
afterAll(() => store[Symbol.asyncDispose]())

it('an execution that is named twice is leased once', async () => {
  await store.submit(2)
  const keys = await readReadyKeys(store.database, 'default', 10)
  expect(keys).toHaveLength(2)
  const reading = { from: [0, 0, 0, 0], since: [0, 0, 0, 0], turn: 8 }
  const slots = Array.from({ length: 10 }, () => ({ workerId: store.workerId, prefetched: false }))
  const leased = await lease(store.database, 'default', reading, slots, [...keys, ...keys])
  const ids = leased.flatMap(({ executions }) => leasedExecutions(executions)).map(({ executionId }) => executionId)
  expect(ids.sort()).toEqual(keys.map(({ executionId }) => executionId).sort())
})
