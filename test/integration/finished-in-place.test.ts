/** What ends stays where it lies, in its page of the ledger: no index of the ledger is written again. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { endOf, openStore, type TestStore } from '../support/store.ts'

let store: TestStore
beforeAll(async () => {
  store = await openStore()
})
afterAll(() => store[Symbol.asyncDispose]())

async function pages(): Promise<Map<string, number>> {
  const rows = await store.database.query<{ id: string; page: number }>(
    null,
    'select execution_id id, (ctid::text::point)[0]::int page from carillon.executions',
  )
  return new Map(rows.map(({ id, page }) => [id, page]))
}

it.each([null, '{"sent":true}'])('also when all of a page end in one report, with the result %s', async (result) => {
  await store.submit(1_000)
  const before = await pages()
  const leased = await store.lease(1_000)
  await store.report(leased.map((held) => endOf(held, 'SUCCEEDED', { result, startedAt: Date.now() })))
  const after = await pages()
  const moved = leased.filter(({ executionId }) => before.get(executionId) !== after.get(executionId))
  expect(leased).toHaveLength(1_000)
  expect(moved).toEqual([])
})
