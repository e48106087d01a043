/** One submission that a worker waits for is written and leased in one transaction, whatever else is the case. */
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { submissionId } from '../../../packages/server/src/domain/identity.ts'
import type { Submission } from '../../../packages/server/src/store/executions/submit.ts'
import { AnsweredBefore } from '../../../packages/server/src/store/idempotency/answers.ts'
import { until } from '../../support/until.ts'
import { startWorkerlessNode, type WorkerlessNode } from './workerless-node.ts'

let node: WorkerlessNode
/** Statements that were answered, by name. */
const answered: (string | null)[] = []

beforeAll(async () => {
  node = await startWorkerlessNode()
  const { database } = node.engine
  const query = database.query.bind(database)
  vi.spyOn(database, 'query').mockImplementation(async (...args: Parameters<typeof query>) => {
    const rows = await query(...args)
    answered.push(args[0])
    return rows as never
  })
})
afterAll(() => node[Symbol.asyncDispose]())
afterEach(async () => {
  const { rows } = await node.sql.query('select count(*)::int n from carillon.ready')
  expect(rows).toEqual([{ n: 0 }])
})

function submission(tenant = 'acme'): Submission {
  const runAt = Date.now()
  return {
    ...{ executionId: submissionId(runAt), tenant, name: null, pool: 'default', lane: 2, handler: 'h', runAt },
    ...{ payload: '{"n":1}', policy: null, labels: null, traceparent: null },
  }
}

/** A worker that waits: it asked, and there was nothing. */
async function waitingWorker(signal?: AbortSignal) {
  const worker = await node.register()
  answered.length = 0
  const leasing = node.lease(worker, 1, signal)
  await until(async () => answered.includes('lease'))
  return { worker, leasing }
}

async function end(worker: string, held: { executionId: string; fence: number } | undefined): Promise<void> {
  const { executionId, fence } = held!
  const times = { startedAt: null, finishedAt: Date.now() }
  const outcome = { executionId, fence, ...times, outcome: 'SUCCEEDED', result: null } as const
  expect((await node.report(worker, { outcomes: [outcome] })).outcomes).toEqual(['ACCEPTED'])
}

it('goes to the worker with the statement that writes it', async () => {
  const { worker, leasing } = await waitingWorker()
  const item = submission()
  await node.engine.submitter.submit(item)
  const [held] = await leasing
  expect(held).toMatchObject({ executionId: item.executionId, attempt: 1, payload: { n: 1 } })
  const { rows } = await node.sql.query(
    `select e.xmin = l.xmin together from carillon.executions e join carillon.leases l on e.execution_id = any (l.ids)
     where execution_id = $1`,
    [item.executionId],
  )
  expect(rows).toEqual([{ together: true }])
  await end(worker, held)
})

it('takes its turn behind what has waited longer', async () => {
  const { worker, leasing } = await waitingWorker()
  const { rows } = await node.sql.query(
    `select max(tag) - 10 tag from (select tag from carillon.executions union all select finish from carillon.flows) t`,
  )
  const [older, newer] = [submission('other'), submission()]
  // Written by a node of which no hint comes.
  await node.sql.query(
    `insert into carillon.executions (execution_id, job_id, tenant, pool, lane, handler, tag, origin, scheduled_for, due_at, fired_at)
     values ($1, $1, 'other', 'default', 2, 'h', $2, 'SUBMIT', now(), now(), now())`,
    [older.executionId, rows[0].tag],
  )
  await node.sql.query(`insert into carillon.ready (pool, lane, tag, execution_id) values ('default', 2, $2, $1)`, [
    older.executionId,
    rows[0].tag,
  ])
  await node.engine.submitter.submit(newer)
  const [first] = await leasing
  const [second] = await node.lease(worker)
  expect([first, second].map((held) => held?.executionId).toSorted()).toEqual(
    [older.executionId, newer.executionId].toSorted(),
  )
  await end(worker, first)
  await end(worker, second)
})

it('is done once for each Idempotency-Key', async () => {
  const { worker, leasing } = await waitingWorker()
  const request = { tenant: 'acme', route: 'POST /v1/jobs', key: 'k1', hash: 'ab'.repeat(32) }
  const submit = (item: Submission) => node.engine.submitter.submit(item, { ...request, answer: item.executionId })
  const first = submission()
  await submit(first)
  const [held] = await leasing
  expect(held).toMatchObject({ executionId: first.executionId })
  const again = node.lease(worker)
  await expect(submit(submission())).rejects.toThrow(AnsweredBefore)
  await end(worker, held)
  const last = submission()
  await node.engine.submitter.submit(last)
  const [next] = await again
  expect(next).toMatchObject({ executionId: last.executionId })
  await end(worker, next)
})

it('is kept for later in a pool that is paused', async () => {
  const { worker, leasing } = await waitingWorker()
  await node.sql.query(`update carillon.pools set paused = true where pool = 'default'`)
  const item = submission()
  await node.engine.submitter.submit(item)
  expect(await node.execution(item.executionId)).toMatchObject({ state: 'PENDING' })
  await node.sql.query(`update carillon.pools set paused = false where pool = 'default'`)
  const [held] = await leasing
  expect(held).toMatchObject({ executionId: item.executionId })
  await end(worker, held)
})

it('is handed back if the worker went away meanwhile', async () => {
  const gone = new AbortController()
  const { worker, leasing } = await waitingWorker(gone.signal)
  const item = submission()
  const { database } = node.engine
  vi.mocked(database.query).mockImplementationOnce((async (...args: Parameters<typeof database.query>) => {
    gone.abort()
    return database.query(...args)
  }) as never)
  await node.engine.submitter.submit(item)
  expect(await leasing).toEqual([])
  const [held] = await node.lease(worker)
  expect(held).toMatchObject({ executionId: item.executionId, attempt: 1 })
  await end(worker, held)
})

it('is refused alone if it cannot be written, and the worker goes on waiting', async () => {
  const { worker, leasing } = await waitingWorker()
  const bad = { ...submission(), policy: { retryPolicy: { nonRetryableErrors: ['NUL\0'] } } }
  await expect(node.engine.submitter.submit(bad)).rejects.toThrow()
  const item = submission()
  await node.engine.submitter.submit(item)
  const [held] = await leasing
  expect(held).toMatchObject({ executionId: item.executionId })
  await end(worker, held)
})

it('many at once, some handed over and some not, are each run once', async () => {
  const workers = await Promise.all([node.register(), node.register(), node.register()])
  const ids = new Set<string>()
  const seen: string[] = []
  const stop = new AbortController()
  const running = workers.map(async (worker) => {
    while (!stop.signal.aborted) {
      for (const held of await node.lease(worker, 3, stop.signal)) {
        seen.push(held.executionId)
        await end(worker, held)
      }
    }
  })
  try {
    for (let round = 0; round < 60; round++) {
      const items = Array.from({ length: 1 + (round % 3) }, () => submission(`tenant ${round % 4}`))
      for (const { executionId } of items) ids.add(executionId)
      await Promise.all(items.map((item) => node.engine.submitter.submit(item)))
      if (round % 6 === 5) await until(async () => seen.length >= ids.size)
    }
    await until(async () => seen.length >= ids.size)
  } finally {
    stop.abort()
  }
  await Promise.all(running)
  expect(seen.toSorted()).toEqual([...ids].toSorted())
  expect(answered.filter((name) => name === 'submit-and-lease').length).toBeGreaterThan(2)
})
