/**
 * Changes by hand, of every kind on every kind of row, after a real run: verify finds each one that breaks a promise. What it cannot find
 * is listed here and in docs/guides/verify.md.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { submissionId } from '../../packages/server/src/domain/identity.ts'
import { type Kind, kinds, TamperedInstallation } from './tampered-installation.ts'

let installation: TamperedInstallation

beforeAll(async () => {
  installation = await TamperedInstallation.run()
}, 180_000)
// One more try is made on an installation of its own.
beforeEach(async ({ task }) => {
  if (!task.result?.retryCount) return
  await installation[Symbol.asyncDispose]()
  installation = await TamperedInstallation.run()
}, 180_000)
afterAll(() => installation[Symbol.asyncDispose]())

const all = Object.keys(kinds) as Kind[]
const open: readonly Kind[] = ['one that runs', 'one that is ready', 'one that is to be tried again', 'one that waits']
const ended = all.filter((kind) => !open.includes(kind))
const ran: readonly Kind[] = ended.filter((kind) => kind.includes('succeeded'))
const skipped = ended.filter((kind) => kind.includes('skipped'))
const but = (...without: Kind[]) => all.filter((kind) => !without.includes(kind))

/** A change of the ledger's row, and the rows it is tried on: all of them must be found. */
const changes: Record<string, { set: string; on: readonly Kind[] }> = {
  'made SUCCEEDED': { set: `state = 'SUCCEEDED', reason = null, finished_at = clock_timestamp()`, on: but(...ran) },
  'made DEAD': {
    set: `state = 'DEAD', reason = 'NOT_RETRYABLE', finished_at = clock_timestamp()`,
    on: but('a dead letter'),
  },
  'made CANCELLED': {
    set: `state = 'CANCELLED', reason = 'CANCELLED', finished_at = clock_timestamp()`,
    on: but('one that was cancelled'),
  },
  ...Object.fromEntries(
    ['PAUSED', 'EDITED', 'OVERLAP', 'EXPIRED', 'MISFIRED', 'GRACE_EXCEEDED', 'CATCH_UP_LIMIT', 'BORED'].map(
      (reason) => [
        `made SKIPPED, ${reason}`,
        { set: `state = 'SKIPPED', reason = '${reason}', finished_at = fired_at`, on: but(...skipped) },
      ],
    ),
  ),
  'made to have been skipped for a fault': { set: `reason = 'MISFIRED', finished_at = fired_at`, on: skipped },
  'made open': { set: `state = null, reason = null, finished_at = null`, on: ended },
  'an attempt more': { set: 'attempt = attempt + 1', on: all },
  'a hand-back more': { set: 'releases = releases + 1', on: all },
  'scheduled for another time': {
    set: `scheduled_for = scheduled_for + interval '1 hour'`,
    on: but('a trigger that succeeded'),
  },
  'due at another time': { set: `due_at = due_at + interval '1 hour'`, on: all },
  'fired before it was due': { set: `fired_at = fired_at - interval '1 hour'`, on: all },
  'fired in the future': { set: `fired_at = fired_at + interval '1 hour'`, on: all },
  'ended before it was fired': { set: `finished_at = finished_at - interval '1 hour'`, on: ended },
  'ended in the future': { set: `finished_at = finished_at + interval '1 hour'`, on: ended },
  'of another job': { set: 'job_id = gen_random_uuid()', on: but('a trigger that succeeded') },
  'of another version': { set: 'job_version = job_version + 1', on: ['a fire that succeeded', ...skipped] },
  'stands for more': { set: `skipped_count = coalesce(skipped_count, 1) + 5`, on: skipped },
  'stands for more, up to a later time': {
    set: `skipped_count = coalesce(skipped_count, 1) + 5, skipped_last = coalesce(skipped_last, scheduled_for) + interval '5 seconds'`,
    on: skipped,
  },
  'a fence from the future': { set: 'fence = 1000000000', on: ran },
  'the fence of another': {
    set: `fence = (select fence from carillon.executions where fence is not null and execution_id <> $1 limit 1)`,
    on: ran,
  },
  'nobody ran it': { set: 'fence = null, worker_id = null', on: ran },
}

async function expectFound(
  name: string,
  statements: { text: string; values?: unknown[] }[],
  why?: string,
): Promise<void> {
  const found = await installation.tamper(statements)
  expect(found.whys.length, `${name}: ${JSON.stringify(found)}`).toBeGreaterThan(0)
  if (why) expect(found.whys, name).toContain(why)
}

it('what nobody touched is clean', async () => {
  expect(await installation.verify()).toEqual({
    counts: { missed: 0, doubled: 0, stuck: 0, wrong: 0 },
    lost: 0,
    whys: [],
  })
})

describe('a row of the ledger', () => {
  it.each(Object.keys(changes))('%s', async (name) => {
    const { set, on } = changes[name]!
    for (const kind of on) {
      const id = installation.idOf(kind)
      const values = set.includes('$1') ? [id] : []
      const text = `update carillon.executions set ${set} where execution_id = '${id}'`
      await expectFound(`${kind}, ${name}`, [{ text, values }])
    }
  })

  it('deleted', async () => {
    // Of what ran once and left the jobs, nothing else is kept.
    for (const kind of but('a trigger that succeeded', 'a one-shot that succeeded')) {
      const id = installation.idOf(kind)
      await expectFound(`${kind}, deleted`, [
        { text: 'delete from carillon.executions where execution_id = $1', values: [id] },
      ])
    }
  })

  it('copied, under another id', async () => {
    const copy = `insert into carillon.executions select (jsonb_populate_record(e, $2::jsonb)).* from carillon.executions e
      where e.execution_id = $1`
    for (const kind of but('a trigger that succeeded')) {
      const id = installation.idOf(kind)
      const another = JSON.stringify({ execution_id: submissionId(Date.now() - 1_000) })
      await expectFound(`${kind}, copied`, [{ text: copy, values: [id, another] }])
    }
    for (const kind of ran) {
      const id = submissionId(Date.now() - 1_000)
      const itself = JSON.stringify({ execution_id: id, job_id: id })
      await expectFound(`${kind}, copied as a job of its own`, [
        { text: copy, values: [installation.idOf(kind), itself] },
      ])
    }
  })

  it('five deleted, and a skip before them that is said to stand for them', async () => {
    for (const reason of ['PAUSED', 'OVERLAP', 'MISFIRED', 'GRACE_EXCEEDED', 'CATCH_UP_LIMIT', 'EDITED']) {
      await expectFound(reason, [
        {
          text: `with job as (select job_id from carillon.jobs where name = 'plain'), rows as (
              select e.execution_id, e.scheduled_for, row_number() over (order by e.execution_id) n
              from carillon.executions e where e.job_id = (select job_id from job)
            ), gone as (delete from carillon.executions e using rows r where e.execution_id = r.execution_id and r.n between 2 and 6)
            update carillon.executions e set state = 'SKIPPED', reason = $1, finished_at = e.fired_at, skipped_count = 6,
              skipped_last = (select r.scheduled_for from rows r where r.n = 6), attempt = 0, fence = null, worker_id = null,
              started_at = null, guarded = true, result = null, tag = -1
            from rows r where r.n = 1 and e.execution_id = r.execution_id`,
          values: [reason],
        },
        {
          text: `insert into carillon.endings select execution_id, tenant, state from carillon.executions
                 where state = 'SKIPPED' on conflict do nothing`,
        },
      ])
    }
  })
})

describe('another table', () => {
  it.each([
    ['the queue of what is ready, emptied', 'delete from carillon.ready', 'NO_HOLDER'],
    ['what runs, emptied', 'delete from carillon.leases', 'NO_HOLDER'],
    ['retries, emptied', 'delete from carillon.retries', 'NO_HOLDER'],
    ['what waits, emptied', 'delete from carillon.waiting', 'NO_HOLDER'],
    ['endings, emptied', 'delete from carillon.endings', 'STATE'],
    ['an ending of another state', `update carillon.endings set state = 'CANCELLED' where state = 'SKIPPED'`, 'STATE'],
    [
      'an end for what succeeded',
      `insert into carillon.endings select execution_id, tenant, 'DEAD' from carillon.executions where state = 'SUCCEEDED'`,
      'STATE',
    ],
    [
      'a retry of what has ended',
      `insert into carillon.retries select execution_id, 0, now() + interval '1 hour', tenant, pool, lane, 'FAILED'
       from carillon.executions where state = 'SUCCEEDED'`,
      'STATE',
    ],
    [
      'what runs, ready as well',
      `insert into carillon.ready (pool, lane, tag, execution_id) select e.pool, e.lane, e.tag, e.execution_id from carillon.running
       join carillon.executions e using (execution_id)`,
      'STATE',
    ],
    ['a retry long due', `update carillon.retries set due = now() - interval '1 hour'`, 'RETRY_OVERDUE'],
    ['an attempt long overdue', `update carillon.leases set overdue_at = now() - interval '1 hour'`, 'ATTEMPT_OVERDUE'],
    [
      'a handler long silent',
      `update carillon.leases set heartbeat_timeout_sec = 1, leased_at = now() - interval '1 hour'`,
      'ATTEMPT_OVERDUE',
    ],
    [
      'a worker long silent',
      `with silent as (update carillon.workers set seen_at = now() - interval '1 hour')
       update carillon.leases set leased_at = now() - interval '1 hour'`,
      'WORKER_LOST',
    ],
    [
      'a deadline long over',
      `update carillon.executions set deadline_at = now() - interval '1 hour' where state is null`,
      'DEADLINE_PASSED',
    ],
    [
      'a start window long over',
      `update carillon.executions set expires_at = now() - interval '1 hour' where state is null`,
      'START_OVERDUE',
    ],
    [
      'something that waits for nothing',
      `with long as (update carillon.executions e set state = 'SUCCEEDED', finished_at = now() - interval '1 hour'
         where e.execution_id in (select execution_id from carillon.running)
           and e.job_id in (select job_id from carillon.jobs where name = 'queue'))
       update carillon.executions e set finished_at = now() - interval '1 hour'
       where e.state is not null and e.job_id in (select job_id from carillon.jobs where name = 'queue')`,
      'WAITS_FOR_NOTHING',
    ],
    [
      'an enqueued submission that nobody takes up',
      `alter table carillon.submissions drop constraint submissions_shard;
       insert into carillon.submissions (execution_id, shard, tenant, pool, lane, handler, run_at)
       select carillon.first_id(carillon.ms(now())), -1, 'default', 'default', 2, 'work', now() - interval '1 hour'`,
      'NOT_FIRED',
    ],
    [
      'a schedule that has lost its place',
      `update carillon.schedules set nominal = null, due = null where job_id in (
         select job_id from carillon.jobs where name = 'triggered')`,
      'NO_SCHEDULE',
    ],
    [
      'a schedule that is gone',
      `delete from carillon.schedules where job_id in (select job_id from carillon.jobs where name = 'triggered')`,
      'NO_SCHEDULE',
    ],
    ['a job that is gone', `delete from carillon.jobs where name = 'plain'`, 'JOB_GONE'],
    [
      'a job that is said to have been paused',
      `update carillon.job_spans set state = 'PAUSED' where job_id in (select job_id from carillon.jobs where name = 'plain')`,
      'PAUSED',
    ],
    [
      'another schedule under the same version',
      `update carillon.jobs set cron = '*/2 * * * * *' where name = 'plain'`,
      'NOT_SCHEDULED',
    ],
    ['submissions deleted', `delete from carillon.executions where origin = 'SUBMIT' and state = 'SUCCEEDED'`, 'LOST'],
  ])('%s', async (name, text, why) => {
    await expectFound(name, [{ text }], why)
  })
})
