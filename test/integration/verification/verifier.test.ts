/** The comparison that goes on by itself. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { occurrenceId } from '../../../packages/server/src/domain/identity.ts'
import type { Logger } from '../../../packages/server/src/observability/logger.ts'
import { readVerifiedHistory } from '../../../packages/server/src/store/verification/history.ts'
import { readProgress } from '../../../packages/server/src/store/verification/progress.ts'
import { Verifier } from '../../../packages/server/src/verification/verifier.ts'
import {
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
const errors: { kind?: string; executionId?: string; more?: number }[] = []
const logger = { error: (detail: object) => errors.push(detail) } as unknown as Logger

beforeAll(async () => {
  template = await virtualTemplate(startAt)
})
afterAll(() => template[Symbol.asyncDispose]())
beforeEach(async () => {
  errors.length = 0
  virtual = await template.open()
})
afterEach(() => virtual[Symbol.asyncDispose]())

/** As after every restart: it knows nothing but what is written down. Each page takes it ten milliseconds. */
const verifier = () => {
  const { database, clock } = virtual
  let now = 0
  const monotonic = () => {
    now += 10
    return now
  }
  return new Verifier({ database, clock, logger, monotonic })
}
/** Until it has nothing to look at for now. */
const passed = async (watching = verifier()) => {
  for (let pages = 1; (await watching.runOnce()) !== undefined; pages++) expect(pages).toBeLessThan(100)
}
const progress = () => readProgress(virtual.database)

describe('the verifier', () => {
  it('begins where it was started, and follows two minutes behind', async () => {
    await virtual.create(everyMinute)
    await passed()
    expect(await progress()).toMatchObject({ verifiedUntil: startAt, occurrences: 0 })
    await virtual.run(10 * minuteMs)
    await passed()
    expect(await progress()).toMatchObject({
      verifiedUntil: virtual.now - 2 * minuteMs,
      pass: null,
      occurrences: 7,
      missed: 0,
    })
    await virtual.run(10 * minuteMs)
    await passed()
    await passed()
    expect(await progress()).toMatchObject({ verifiedUntil: virtual.now - 2 * minuteMs, occurrences: 17, missed: 0 })
  })

  it('tells of each finding once: in the log, in the audit and in its count', async () => {
    const job = await virtual.create(everyMinute)
    await passed()
    await virtual.run(10 * minuteMs)
    const executionId = occurrenceId(job, startAt + 4 * minuteMs)
    await virtual.sql('delete from carillon.executions where execution_id = $1', [executionId])
    await passed()
    await virtual.run(10 * minuteMs)
    await passed()
    expect(errors).toMatchObject([{ kind: 'MISSED', why: 'NO_ROW', jobId: job, executionId, tenant: 'acme' }])
    expect(
      await virtual.sql(`select tenant, action, subject, detail from carillon.audit where actor = 'verifier'`),
    ).toEqual([
      {
        ...{ tenant: 'acme', action: 'occurrence.missed', subject: executionId },
        detail: { jobId: job, why: 'NO_ROW', scheduledFor: new Date(startAt + 4 * minuteMs).toISOString() },
      },
    ])
    expect(await progress()).toMatchObject({ missed: 1, doubled: 0 })
    const found = { occurrences: 17, missed: 1, doubled: 0, stuck: 0, wrong: 0, lost: 0, late: 0 }
    expect(await readVerifiedHistory(virtual.database)).toEqual({
      ...{ since: new Date(startAt), until: new Date(virtual.now - 2 * minuteMs), stuckNow: 0, total: found },
      hours: [{ at: new Date(startAt), ...found }],
    })
  })

  it('keeps what it found by the hour, for 30 days', async () => {
    await virtual.create({ type: 'CRON', schedule: '30 * * * *' })
    await passed()
    await virtual.sql(`insert into carillon.verified_hours (hour, missed) values ($1, 1), ($2, 2)`, [
      new Date(startAt - 30 * 24 * hourMs + hourMs),
      new Date(startAt - 30 * 24 * hourMs - hourMs),
    ])
    await virtual.run(3 * minuteMs)
    await passed()
    const inHour = async () => {
      const { hours } = (await readVerifiedHistory(virtual.database))!
      return hours.map(({ at, missed, occurrences }) => [at.getTime(), occurrences, missed])
    }
    expect(await inHour()).toEqual([
      [startAt - 30 * 24 * hourMs + hourMs, 0, 1],
      [startAt, 0, 0],
    ])
    await virtual.run(2 * hourMs)
    await passed()
    expect(await inHour()).toEqual([
      [startAt, 0, 0],
      [startAt + 2 * hourMs, 2, 0],
    ])
  })

  it('a little at a time: another node goes on where it stopped', async () => {
    for (let i = 0; i < 2; i++) await virtual.create({ type: 'INTERVAL', interval: 'PT1S', misfireAfterSec: 86_400 })
    await passed()
    virtual.down(hourMs)
    await virtual.fireDue()
    const seen = new Set<string>()
    for (let i = 0; (await progress())!.verifiedUntil === startAt; i++) {
      expect(i).toBeLessThan(50)
      const again = await verifier().runOnce()
      const { pass } = (await progress())!
      // A twentieth of the time: 190 after a page of 10, and 10 of them have passed.
      expect(again).toEqual(pass === null ? undefined : { againInMs: 180 })
      seen.add(pass?.position ?? 'end')
    }
    expect(seen.size).toBeGreaterThan(2)
    const occurrences = 2 * (58 * 60 - 1)
    expect(await progress()).toMatchObject({
      verifiedUntil: virtual.now - 2 * minuteMs,
      pass: null,
      occurrences,
      missed: 0,
    })
  })

  it('two at once count nothing twice', async () => {
    const job = await virtual.create(everyMinute)
    await passed()
    await virtual.run(10 * minuteMs)
    await virtual.sql('delete from carillon.executions where execution_id = $1', [
      occurrenceId(job, startAt + 4 * minuteMs),
    ])
    await Promise.all([passed(), passed()])
    expect(await progress()).toMatchObject({ occurrences: 7, missed: 1 })
    expect(errors).toHaveLength(1)
  })

  it('after an outage waits until everything has been caught up with', async () => {
    await virtual.create(everyMinute)
    const watching = verifier()
    await passed(watching)
    await virtual.run(5 * minuteMs)
    virtual.down(hourMs)
    await passed(watching)
    expect(await progress()).toMatchObject({ verifiedUntil: startAt + 6 * minuteMs, missed: 0, occurrences: 5 })
    await virtual.fireDue()
    await passed(watching)
    expect(await progress()).toMatchObject({ verifiedUntil: virtual.now - 2 * minuteMs, missed: 0 })
    expect(errors).toEqual([])
  })

  it('finds the schedule that never moves', async () => {
    await virtual.create(everyMinute)
    const watching = verifier()
    await passed(watching)
    for (let i = 0; i < 15; i++) {
      virtual.down(minuteMs)
      await passed(watching)
    }
    expect((await progress())!.missed).toBeGreaterThan(5)
    expect(errors[0]).toMatchObject({ kind: 'MISSED', why: 'OVERDUE' })
    virtual.down(30 * secondMs)
    const { missed } = (await progress())!
    await passed(watching)
    expect((await progress())!.missed - missed).toBeLessThanOrEqual(1)
  })

  it('tells of what is stuck once it has been so for a minute, and says when it is over', async () => {
    const job = await virtual.create(everyMinute)
    const watching = verifier()
    await passed(watching)
    await virtual.run(90 * secondMs)
    const [{ id }] = await virtual.sql(
      `with gone as (delete from carillon.ready where execution_id in (select execution_id from carillon.executions
         where job_id = $1) returning *)
       insert into carillon.retries select execution_id, 0, carillon.at($2), 'acme', pool, lane, 'FAILED' from gone
       returning execution_id id`,
      [job, virtual.now],
    )
    const look = async (laterMs: number) => {
      virtual.down(laterMs)
      await passed(watching)
      return { stuck: (await progress())!.stuck, stuckNow: (await progress())!.stuckNow }
    }
    expect(await look(90 * secondMs)).toEqual({ stuck: 0, stuckNow: 0 })
    expect(await look(60 * secondMs)).toEqual({ stuck: 0, stuckNow: 0 })
    expect(await look(60 * secondMs)).toEqual({ stuck: 1, stuckNow: 1 })
    expect(await look(60 * secondMs)).toEqual({ stuck: 1, stuckNow: 1 })
    const found = { kind: 'STUCK', why: 'RETRY_OVERDUE', executionId: id }
    expect(errors.filter(({ kind }) => kind === 'STUCK')).toMatchObject([found])
    expect(await virtual.sql(`select subject from carillon.audit where action = 'execution.stuck'`)).toEqual([
      { subject: id },
    ])
    await virtual.fireDue()
    expect(await look(60 * secondMs)).toEqual({ stuck: 1, stuckNow: 0 })
    // A verifier that has just begun does not know for how long.
    await virtual.sql(`update carillon.executions set deadline_at = carillon.at($1)`, [virtual.now - 10 * minuteMs])
    await virtual.sql(
      `insert into carillon.deadlines select execution_id, 'FINISH', deadline_at from carillon.executions`,
    )
    await passed()
    expect((await progress())!.stuckNow).toBe(0)
  })

  it('finds at once what no queue holds, and counts what was acknowledged and is gone', async () => {
    await virtual.create(everyMinute)
    await passed()
    await virtual.run(5 * minuteMs)
    await virtual.sql('delete from carillon.ready')
    await virtual.sql(
      `insert into carillon.receipts (tenant, minute, book, count) values ('acme', carillon.at($1), gen_random_uuid(), 3)`,
      [startAt + minuteMs],
    )
    await passed()
    expect(await progress()).toMatchObject({ missed: 0, stuck: 2, lost: 3, wrong: 0 })
    expect(errors).toContainEqual(expect.objectContaining({ acknowledged: 3, kept: 0 }))
    const [note] = await virtual.sql(`select tenant, detail from carillon.audit where action = 'submissions.lost'`)
    expect(note).toMatchObject({ tenant: null, detail: { acknowledged: 3, kept: 0 } })
  })
})
