/** What is wrong is found: exactly that, and nothing else. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { firstIdAt, newId, occurrenceId, submissionId } from '../../../packages/server/src/domain/identity.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { raiseFloor } from '../../../packages/server/src/store/partitions/manage.ts'
import { Pruner } from '../../../packages/server/src/upkeep/pruner.ts'
import { TzWatcher } from '../../../packages/server/src/upkeep/tz-watcher.ts'
import {
  dayMs,
  hourMs,
  minuteMs,
  secondMs,
  type VirtualInstallation,
  type VirtualTemplate,
  virtualTemplate,
} from './virtual-installation.ts'

const startAt = Date.UTC(2030, 5, 3, 12)
const everyMinute = { type: 'CRON', schedule: '* * * * *' } as const

let template: VirtualTemplate
let virtual: VirtualInstallation

beforeAll(async () => {
  template = await virtualTemplate(startAt)
})
afterAll(() => template[Symbol.asyncDispose]())
beforeEach(async () => {
  virtual = await template.open()
})
afterEach(() => virtual[Symbol.asyncDispose]())

const copy = (id: string, more: { id: string; at?: number }) =>
  virtual.sql(
    `insert into carillon.executions
     select (jsonb_populate_record(e, jsonb_build_object('execution_id', $2::uuid) || coalesce($3::jsonb, '{}'))).*
     from carillon.executions e where e.execution_id = $1`,
    [id, more.id, more.at === undefined ? null : JSON.stringify({ scheduled_for: new Date(more.at).toISOString() })],
  )

describe('missing', () => {
  it('a row that somebody deleted, and a schedule that moved on without one', async () => {
    const job = await virtual.create(everyMinute)
    const other = await virtual.create(everyMinute)
    await virtual.run(5 * minuteMs)
    await virtual.sql(
      `update carillon.schedules set nominal = nominal + interval '1 minute', due = due + interval '1 minute'
      where job_id = $1`,
      [other],
    )
    await virtual.run(5 * minuteMs)
    const third = startAt + 3 * minuteMs
    await virtual.sql('delete from carillon.executions where execution_id = $1', [occurrenceId(job, third)])
    const { missed, doubled, counts, checked } = await virtual.verify()
    expect(missed).toHaveLength(2)
    expect(missed).toContainEqual({
      ...{ kind: 'MISSED', why: 'NO_ROW', tenant: 'acme', jobId: job, scheduledFor: third },
      executionId: occurrenceId(job, third),
    })
    expect(missed).toContainEqual(expect.objectContaining({ jobId: other, scheduledFor: startAt + 6 * minuteMs }))
    expect({ doubled, counts, checked }).toEqual({
      ...{ doubled: [], counts: { missed: 2, doubled: 0, stuck: 0, wrong: 0 }, checked: { jobs: 2, occurrences: 18 } },
    })
    expect((await virtual.verify({ from: third + 1, to: startAt + 6 * minuteMs })).missed).toEqual([])
  })

  it('not what is about to fire, but what has not fired long after its time', async () => {
    const job = await virtual.create({ ...everyMinute, misfireAfterSec: 300 })
    await virtual.run(2 * minuteMs)
    virtual.down(4 * minuteMs + 30 * secondMs)
    expect(await virtual.verify()).toMatchObject({ missed: [], pending: 4 })
    virtual.down(2 * minuteMs)
    const { missed, pending, counts } = await virtual.verify()
    expect([counts.missed, pending]).toEqual([1, 5])
    expect(missed).toMatchObject([{ jobId: job, why: 'OVERDUE', scheduledFor: startAt + 3 * minuteMs }])
    await virtual.fireDue()
    expect(await virtual.verify()).toMatchObject({ missed: [], pending: 0 })
  })

  it('what should have fired once and stands there still', async () => {
    await virtual.create({ type: 'ONE_SHOT', runAt: startAt + minuteMs })
    virtual.down(90 * secondMs)
    expect(await virtual.verify()).toMatchObject({ missed: [], pending: 1 })
    virtual.down(dayMs)
    expect(await virtual.verify()).toMatchObject({ missed: [{ why: 'OVERDUE' }], pending: 0 })
  })

  it('the last one of a job that has ended', async () => {
    const job = await virtual.create({ ...everyMinute, maxFires: 3 })
    await virtual.run(10 * minuteMs)
    expect(await virtual.verify()).toMatchObject({ missed: [], checked: { jobs: 1, occurrences: 3 } })
    await virtual.sql('delete from carillon.executions where execution_id = $1', [
      occurrenceId(job, startAt + 3 * minuteMs),
    ])
    expect((await virtual.verify()).missed).toMatchObject([{ scheduledFor: startAt + 3 * minuteMs }])
  })

  it('of many, all are counted and as many listed as asked for; one second each, over hours', async () => {
    const job = await virtual.create({ type: 'INTERVAL', interval: 'PT1S', misfireAfterSec: 86_400 })
    await virtual.create(everyMinute)
    virtual.down(2 * hourMs)
    await virtual.fireDue()
    const gone = [1, 4_999, 5_000, 5_001, 5_002, 7_199].map((second) => startAt + second * secondMs)
    await virtual.sql('delete from carillon.executions where execution_id = any($1)', [
      gone.map((at) => occurrenceId(job, at)),
    ])
    const { missed, counts, checked } = await virtual.verify({ listed: 4 })
    expect(missed.map(({ scheduledFor }) => scheduledFor)).toEqual(gone.slice(0, 4))
    expect([counts.missed, checked.occurrences]).toEqual([6, 2 * 3_600 - 1 + 119])
    expect((await virtual.verify({ from: startAt + hourMs })).counts.missed).toBe(5)
  })
})

describe('too many', () => {
  it('a second row for an occurrence, under whatever id', async () => {
    const job = await virtual.create(everyMinute)
    await virtual.run(5 * minuteMs)
    const at = startAt + 2 * minuteMs
    const another = submissionId(at + 20 * secondMs)
    await copy(occurrenceId(job, at), { id: another })
    const { missed, doubled } = await virtual.verify()
    expect({ missed, doubled }).toEqual({
      missed: [],
      doubled: [
        { kind: 'DOUBLED', why: 'WRONG_ID', tenant: 'acme', jobId: job, scheduledFor: at, executionId: another },
      ],
    })
  })

  it('one that fired at a time at which there was nothing to fire', async () => {
    const job = await virtual.create(everyMinute)
    await virtual.run(5 * minuteMs)
    const at = startAt + 2 * minuteMs + 30 * secondMs
    await copy(occurrenceId(job, startAt + 2 * minuteMs), { id: occurrenceId(job, at), at })
    expect((await virtual.verify()).doubled).toMatchObject([{ why: 'NOT_SCHEDULED', scheduledFor: at }])
  })

  it('one that fired while the job was paused', async () => {
    const job = await virtual.create(everyMinute)
    await virtual.run(2 * minuteMs + secondMs)
    await virtual.pause(job)
    const at = startAt + 3 * minuteMs
    await virtual.sql(`update carillon.schedules set nominal = nominal + interval '1 minute' where job_id = $1`, [job])
    await copy(occurrenceId(job, startAt + 2 * minuteMs), { id: occurrenceId(job, at), at })
    await virtual.run(2 * minuteMs)
    await virtual.resume(job)
    await virtual.run(minuteMs)
    expect(await virtual.verify()).toMatchObject({ missed: [], doubled: [{ why: 'PAUSED', scheduledFor: at }] })
  })

  it('a second row for what fires once, and for a submission', async () => {
    const once = await virtual.create({ type: 'ONE_SHOT', runAt: startAt + minuteMs })
    await virtual.run(2 * minuteMs)
    expect(await virtual.verify()).toMatchObject({ doubled: [] })
    await copy(once, { id: occurrenceId(once, startAt + minuteMs) })
    await copy(once, { id: submissionId(startAt + minuteMs) })
    const submitted = newId(startAt + 3_000)
    await virtual.sql(
      `insert into carillon.executions (execution_id, job_id, tenant, pool, lane, handler, tag, origin, scheduled_for,
         due_at, fired_at) values ($1, $1, 'acme', 'default', 2, 'h', 1, 'SUBMIT', now(), now(), now())`,
      [submitted],
    )
    await copy(submitted, { id: newId(startAt + 3_000) })
    const { doubled, missed } = await virtual.verify()
    expect(missed).toEqual([])
    expect(doubled.map(({ jobId, why }) => [jobId, why])).toEqual([
      [submitted, 'WRONG_ID'],
      [once, 'WRONG_ID'],
      [once, 'WRONG_ID'],
    ])
  })

  it('however many rows there are for few occurrences', async () => {
    const job = await virtual.create(everyMinute)
    await virtual.create(everyMinute)
    await virtual.run(60 * minuteMs)
    await virtual.sql(
      `insert into carillon.executions (execution_id, job_id, tenant, pool, lane, handler, tag, origin, scheduled_for,
         due_at, fired_at)
       select (left(carillon.first_id($2::bigint + n)::text, 14) || '8' || substr(md5(n::text), 1, 3) || '-8000-000000000000')::uuid,
         $1, 'acme', 'default', 2, 'h', -1, 'BACKFILL', carillon.at($2::bigint + n), carillon.at($2::bigint + n), now()
       from generate_series(1, 21000) n`,
      [job, startAt + 10 * minuteMs],
    )
    const { counts, checked } = await virtual.verify()
    expect({ counts, checked }).toEqual({
      counts: { missed: 0, doubled: 21_000, stuck: 0, wrong: 0 },
      checked: { jobs: 2, occurrences: 118 },
    })
  })
})

describe('outside history', () => {
  it('is what lies below the floor: neither missing nor clean', async () => {
    const job = await virtual.create(everyMinute)
    await virtual.run(10 * minuteMs)
    const floor = startAt + 5 * minuteMs + 1
    await raiseFloor(virtual.database, firstIdAt(floor))
    await virtual.sql('delete from carillon.executions where execution_id < $1', [firstIdAt(floor)])
    expect(await virtual.verify()).toMatchObject({
      ...{ missed: [], checked: { jobs: 1, occurrences: 4 }, outsideHistory: { before: floor, jobs: 0 } },
    })
    expect((await virtual.verify({ from: floor })).outsideHistory.before).toBeNull()
    await virtual.pause(job)
    virtual.down(5 * minuteMs)
    await raiseFloor(virtual.database, firstIdAt(virtual.now - 2 * minuteMs + 1))
    await virtual.resume(job)
    await virtual.run(minuteMs)
    expect(await virtual.verify()).toMatchObject({ missed: [], skipped: { PAUSED: 2 } })
  })

  it('is what cannot be computed any more, and no other job suffers from it', async () => {
    const broken = await virtual.create(everyMinute)
    const job = await virtual.create(everyMinute)
    await virtual.run(3 * minuteMs)
    await virtual.sql(`update carillon.jobs set timezone = 'Atlantis/Capital' where job_id = $1`, [broken])
    await virtual.sql('delete from carillon.executions where job_id = $1', [job])
    expect(await virtual.verify()).toMatchObject({
      ...{ counts: { missed: 2, doubled: 0 }, missed: [{ jobId: job }, { jobId: job }], outsideHistory: { jobs: 1 } },
    })
    virtual.down(5 * minuteMs)
    const { missed } = await virtual.verify({ from: startAt + 3 * minuteMs })
    expect(missed).toContainEqual(expect.objectContaining({ jobId: broken, why: 'OVERDUE' }))
  })

  it('is what a job was before its changes were kept', async () => {
    const job = await virtual.create(everyMinute)
    const untouched = await virtual.create(everyMinute)
    await virtual.run(3 * minuteMs)
    await virtual.edit(job, { type: 'CRON', schedule: '*/2 * * * *' })
    await virtual.run(7 * minuteMs)
    await virtual.sql('delete from carillon.job_spans')
    await virtual.sql('delete from carillon.executions where execution_id = $1', [
      occurrenceId(untouched, startAt + minuteMs),
    ])
    const { missed, outsideHistory } = await virtual.verify()
    expect(outsideHistory).toEqual({ before: null, jobs: 1 })
    expect(missed).toMatchObject([{ jobId: untouched }])
    expect((await virtual.verify({ from: startAt + 4 * minuteMs })).outsideHistory.jobs).toBe(0)
  })
})

describe('what is kept', () => {
  it('spans go with the history, but for the last one of each job, which says where its schedule went on', async () => {
    const job = await virtual.create(everyMinute)
    const gone = await virtual.create({ type: 'ONE_SHOT', runAt: startAt + 4 * minuteMs })
    await virtual.edit(gone, { type: 'ONE_SHOT', runAt: startAt + 3 * minuteMs })
    for (let i = 0; i < 3; i++) {
      await virtual.run(2 * minuteMs)
      await virtual.pause(job)
      await virtual.run(2 * minuteMs)
      await virtual.resume(job)
    }
    const spans = () => virtual.sql('select job_id from carillon.job_spans')
    const pruner = new Pruner({ database: virtual.database })
    await pruner.runOnce()
    expect(await spans()).toHaveLength(7)
    await virtual.run(10 * minuteMs)
    await raiseFloor(virtual.database, firstIdAt(virtual.now - 5 * minuteMs))
    await pruner.runOnce()
    expect(await spans()).toEqual([{ job_id: job }])
    await virtual.run(minuteMs)
    expect(await virtual.verify({ from: virtual.now - 5 * minuteMs })).toMatchObject({
      ...{ missed: [], doubled: [], outsideHistory: { before: null, jobs: 0 }, checked: { jobs: 1, occurrences: 5 } },
    })
  })
})

describe('another tz database', () => {
  it('what it moved is neither missing nor too many; what is missing beside it is', async () => {
    const berlin = await virtual.create({
      type: 'CRON',
      schedule: '0 3 * * *',
      timezone: 'Europe/Berlin',
      jitterSec: 60,
    })
    await virtual.create({ type: 'CRON', schedule: '0 3 * * *' })
    await virtual.sql(`update carillon.installation set tz_version = '2020a'`)
    // Until then, the clock in Berlin was another one.
    const shift = `update carillon.schedules set nominal = nominal + interval '1 hour', due = due + interval '1 hour'
      where job_id = $1 and nominal > carillon.at($2)`
    await virtual.sql(shift, [berlin, virtual.now])
    await virtual.run(dayMs)
    await virtual.sql(shift, [berlin, virtual.now])
    await virtual.run(dayMs)
    await virtual.sql(shift, [berlin, virtual.now])
    const { clock, database } = virtual
    await new TzWatcher({ database, clock, logger: createLogger('silent'), tzVersion: '2030z' }).runOnce()
    await virtual.run(3 * dayMs)
    const fired = await virtual.sql(
      'select execution_id id from carillon.executions where job_id = $1 order by execution_id',
      [berlin],
    )
    expect(fired).toHaveLength(5)
    expect(await virtual.verify()).toMatchObject({ missed: [], doubled: [] })
    await virtual.sql('delete from carillon.executions where execution_id = $1', [fired[1].id])
    expect(await virtual.verify()).toMatchObject({ counts: { missed: 1, doubled: 0 }, missed: [{ jobId: berlin }] })
  })
})
