import { expect, it } from 'vitest'
import { Submitter } from '../../packages/server/src/admission/submitter.ts'
import { newId } from '../../packages/server/src/domain/identity.ts'
import type { Signals } from '../../packages/server/src/signals/port.ts'
import type { Submission } from '../../packages/server/src/store/executions/submit.ts'
import { openStore, tenant } from '../support/store.ts'

const deaf: Signals = { publish() {}, subscribe: () => () => {}, async start() {}, async stop() {} }

it('of submissions that arrive together, one that cannot be written fails alone', async () => {
  await using store = await openStore()
  const { database } = store
  const submitter = new Submitter({ database, tag: async (flows) => flows.map(() => store.tag()), signals: deaf })
  const runAt = Date.now()
  const item = (name: string): Submission => ({
    ...{ executionId: newId(runAt), tenant, name: null, pool: 'default', lane: 2, handler: 'h', runAt, payload: null },
    ...{ policy: { retryPolicy: { nonRetryableErrors: [name] } }, labels: null, traceparent: null },
  })
  const items = ['a', 'b', 'NUL\0', 'd', 'e'].map(item)
  const outcomes = await Promise.allSettled(items.map((each) => submitter.submit(each)))
  expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual([true, true, false, true, true])
  const rows = await database.query<{ id: string; xmin: string }>(
    null,
    'select execution_id id, xmin::text from carillon.executions order by xmin',
  )
  const good = items.filter((_, i) => i !== 2).map(({ executionId }) => executionId)
  expect(rows.map(({ id }) => id).toSorted()).toEqual(good.toSorted())
  await store.assertOnePlace()
})
