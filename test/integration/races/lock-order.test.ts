/**
 * The lock order of 0001_engine.sql and 0002_front_door.sql: whatever an operation waits for comes after everything it holds. Each operation is
 * given ids in the order that is worst for it; then functions are spoilt on purpose, and the watch must see it.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../../packages/server/src/domain/identity.ts'
import type { Database } from '../../../packages/server/src/store/database.ts'
import { replay } from '../../../packages/server/src/store/executions/replay.ts'
import { report } from '../../../packages/server/src/store/executions/report.ts'
import { fireReturns } from '../../../packages/server/src/store/executions/returning.ts'
import { submitOnce } from '../../../packages/server/src/store/executions/submit.ts'
import { storeProgress } from '../../../packages/server/src/store/executions/worker-news.ts'
import { claimAnswer } from '../../../packages/server/src/store/idempotency/answers.ts'
import { changeJob } from '../../../packages/server/src/store/jobs/change.ts'
import { createWork } from '../../../packages/server/src/store/jobs/create.ts'
import { triggerJob } from '../../../packages/server/src/store/jobs/trigger.ts'
import { type Admissible, admit, readAdmissible } from '../../../packages/server/src/store/limits/admit.ts'
import { fire } from '../../../packages/server/src/store/schedules/fire.ts'
import { claimShards, renewLease, resign } from '../../../packages/server/src/store/shards/claim.ts'
import { expireDue, releaseStranded } from '../../../packages/server/src/store/workers/sweep.ts'
import { againstOrder, LockWatch } from '../../support/lock-watch.ts'
import { endOf, openStore, type TestStore, tenant } from '../../support/store.ts'
import { raceTimeoutMs } from './rounds.ts'

type Operation = (database: Database) => Promise<unknown>

describe('the lock order', { timeout: raceTimeoutMs }, () => {
  let store: TestStore
  let watch: LockWatch
  let operations: Map<string, Operation>
  beforeAll(async () => {
    store = await openStore()
    operations = await stage(store)
    watch = new LockWatch(store.url)
  })
  afterAll(async () => {
    await watch[Symbol.asyncDispose]()
    await store[Symbol.asyncDispose]()
  })

  it('is kept by every operation, and none of them waits for nothing', async () => {
    const waited: string[] = []
    for (const [name, operation] of operations) {
      const waits = await watch.waits(operation)
      expect(againstOrder(waits), name).toEqual([])
      if (waits.length > 0) waited.push(name)
    }
    const waiters = [
      ...['report', 'cancel', 'fire', 'fire retries', 'replay', 'trigger', 'edit', 'expire', 'resign'],
      ...['submit once', 'replace', 'admit'],
    ]
    expect(waited, 'operations whose order was seen').toEqual(expect.arrayContaining(waiters))
    expect(waited, 'operations that may never wait').not.toContain('lease')
  })

  it.each([
    [
      'fire retries',
      'fire_retries',
      'order by e.execution_id for no key update of e',
      'order by e.execution_id desc for no key update of e',
    ],
    [
      'report',
      'report',
      'with held as materialized',
      `perform from carillon.executions e where e.execution_id = any (p_ids) order by e.execution_id desc for update;
       with held as materialized`,
    ],
    ['submit once', 'claim_answers', 'order by w.tenant', 'order by w.number, w.tenant'],
    [
      'replace',
      'take_stand',
      'perform from carillon.dedupes d',
      'perform from carillon.executions e where e.execution_id = p_seen for update; perform from carillon.dedupes d',
    ],
    [
      'cancel',
      'end_pending',
      'order by e.execution_id for no key update of e',
      'order by e.execution_id desc for no key update of e',
    ],
    [
      'fire',
      'overlap_verdicts',
      'order by e.execution_id for no key update of e',
      'order by e.execution_id desc for no key update of e',
    ],
    [
      'replay',
      'replay',
      'order by e.execution_id for no key update of e',
      'order by e.execution_id desc for no key update of e',
    ],
    ['admit', 'admit', 'order by k.key for update', 'order by k.key desc for update'],
    [
      'edit',
      'change_job',
      'perform from carillon.schedules s',
      'perform from carillon.executions e where e.job_id = p_id for update; perform from carillon.schedules s',
    ],
  ])('is seen to be broken by %s when %s takes its locks the other way round', async (name, fn, right, wrong) => {
    const [found] = await store.database.query<{ text: string }>(
      null,
      `select pg_get_functiondef(('carillon.' || $1)::regproc) text`,
      [fn],
    )
    const { text } = found!
    expect(text).toContain(right)
    await store.database.query(null, text.replace(right, wrong))
    try {
      expect(againstOrder(await watch.waits(operations.get(name)!))).not.toEqual([])
    } finally {
      await store.database.query(null, text)
    }
  })
})

/** Executions in every place, of jobs whose ids sort one way and whose executions sort the other. */
async function stage(store: TestStore): Promise<Map<string, Operation>> {
  const start = Math.floor(Date.now() / 1_000) * 1_000 - 3_600_000
  const jobs: string[] = []
  for (const overlap of ['FORBID', 'QUEUE_ONE', 'REPLACE', 'ALLOW', 'REPLACE'] as const) {
    const place = jobs.length
    const times = { jobId: newId(Date.now() + place * 1_000), nominal: start - place * 60_000 }
    jobs.push(await store.job({ ...times, overlap }))
  }
  await store.fire(jobs.slice(0, 2))
  const lost = await store.lease(10)
  await store.settle(lost.map((held) => endOf(held, 'FAILED', { next: 'DEAD', reason: 'X' })))
  await store.fire(jobs.slice(0, 4))
  await store.submit(6)
  const leases = await store.lease(100)
  const submitted = leases.filter((lease) => lease.jobId === lease.executionId)
  await store.settle([
    ...submitted.slice(0, 2).map((held) => endOf(held, 'FAILED')),
    ...submitted.slice(2, 4).map((held) => endOf(held, 'FAILED', { next: 'DEAD', reason: 'X' })),
  ])
  const running = leases.filter((lease) => !submitted.slice(0, 4).includes(lease))
  const returning = submitted.slice(0, 2).map((lease) => lease.executionId)
  const dead = [...lost, ...submitted.slice(2, 4)].map((lease) => lease.executionId)
  // One waits behind a running one; another, of the second job that replaces, is still in the queue.
  await store.fire([jobs[1]!, jobs[4]!])
  const ready = await store.submit(3, { startWithinSec: 1, deadlineSec: 1 }, Date.now() - 5_000)
  await store.database.query(null, `update carillon.executions set deadline_at = now() where deadline_at is not null`)
  await store.database.query(null, 'update carillon.deadlines set due = now()')
  const nodeId = newId(3)
  await renewLease(store.database, { nodeId, name: 'second', leaseMs: 3_600_000 })

  const records = await Promise.all(jobs.map((id) => store.readJob(id)))
  const plans = records.map((job) => store.plan(job!, 2)).toReversed()
  const byId = (a: { executionId: string }, b: { executionId: string }) => (a.executionId < b.executionId ? 1 : -1)
  const ends = running.toSorted(byId).map((held) => endOf(held))
  const ids = (list: { executionId: string }[]) => list.map(({ executionId }) => executionId)
  const open = [...ids(running), ...returning, ...ready].toSorted().toReversed()
  const led = [...store.led].reverse()
  const allowed = records[3]!
  const change = { definition: { ...allowed.definition, overlap: 'FORBID' as const }, state: 'ACTIVE' as const }
  const trigger = {
    ...{ executionId: newId(Date.now()), at: Date.now(), tag: 1_000_000, payload: null, traceparent: null },
    ...{ version: 1, actor: 'test', entry: null },
  }
  const items = returning
    .toSorted()
    .toReversed()
    .map((executionId) => ({ executionId, tag: store.tag() }))
  const asked = await askedBefore(store, ready[0]!)
  const admissible = await waitingForLimits(store)
  return new Map<string, Operation>([
    ['submit once', (db) => submitOnce(db, asked.submissions, [1, 2], asked.entries.toReversed())],
    [
      'replace',
      (db) => createWork(db, { jobs: [], actor: 'test', entry: asked.entries[1]!, keyClaim: asked.keyClaim }),
    ],
    ['report', (db) => report(db, ends)],
    [
      'report of failures',
      (db) =>
        report(
          db,
          ends.map((end) => endOf(end, 'FAILED')),
        ),
    ],
    ['cancel', (db) => db.query(null, `select carillon.cancel($1, 'ASKED', 'test')`, [open])],
    ['lease', (db) => store.lease(100, db)],
    [
      'fire',
      (db) =>
        fire(
          db,
          led,
          plans.map((p) => p.move),
          plans.flatMap((p) => p.occurrences),
        ),
    ],
    ['fire retries', (db) => fireReturns(db, 'retries', led, items)],
    ['replay', (db) => replay(db, dead.toSorted().toReversed(), 'test')],
    ['trigger', (db) => triggerJob(db, { ...trigger, jobId: jobs[2]! })],
    ['edit', (db) => changeJob(db, allowed, { ...change, nominal: start, due: start, live: [], skipped: [] })],
    ['expire', (db) => expireDue(db, 100)],
    ['release', (db) => releaseStranded(db)],
    [
      'progress',
      (db) =>
        storeProgress(
          db,
          ends.map((end) => ({ ...end, progress: '1' })),
        ),
    ],
    [
      'admit',
      (db) =>
        admit(
          db,
          admissible,
          admissible.candidates.map(() => 1),
        ),
    ],
    ['claim', (db) => claimShards(db, nodeId)],
    ['resign', (db) => resign(db, store.leaderId)],
  ])
}

/** Executions that wait for two limits, named so that those are found the other way round. */
async function waitingForLimits(store: TestStore): Promise<Admissible> {
  for (const name of ['z', 'a']) {
    await store.database.query(
      null,
      `insert into carillon.limits (tenant, name, scope, concurrency) values ($1, $2, 'KEY', 3)`,
      [tenant, name],
    )
  }
  for (const limitKeys of [['z'], ['a'], ['z', 'a']]) await store.submit(2, { limitKeys } as never)
  await store.database.query(
    null,
    'insert into carillon.limit_keys (key) select distinct key from carillon.limit_changes',
  )
  const found = await readAdmissible(store.database, 100)
  return { ...found, candidates: found.candidates.toReversed() }
}

/** Two requests that were answered so long ago that their keys are free, and one that stands under a dedupe key. */
async function askedBefore(store: TestStore, holder: string) {
  const entries = ['a', 'b'].map((key) => ({ tenant, route: 'POST /v1/jobs', key, hash: '00', answer: '{}' }))
  for (const entry of entries) await claimAnswer(store.database, entry)
  await store.database.query(null, `update carillon.idempotency set at = at - interval '25 hours'`)
  const keyClaim = { tenant, key: 'k', seen: null, withdraw: false, id: holder, firstAt: 1, windowUntil: null }
  await createWork(store.database, { jobs: [], actor: 'test', keyClaim })
  const submission = {
    ...{ tenant, name: null, pool: 'default', lane: 2, handler: 'h', runAt: Date.now(), payload: null, policy: null },
    ...{ labels: null, traceparent: null },
  }
  const submissions = entries.map(() => ({ ...submission, executionId: newId(Date.now()) }))
  return { entries, submissions, keyClaim: { ...keyClaim, seen: holder, withdraw: true, id: newId(Date.now()) } }
}
