/** An installation that does what it should is clean, whatever is done to its jobs; and of each row that is taken out, verify knows. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hourMs, minuteMs, secondMs, type VirtualInstallation, virtualInstallation } from './virtual-installation.ts'

/** A few hours before clocks in Berlin are set forward. */
const startAt = Date.UTC(2030, 2, 30, 20)

let virtual: VirtualInstallation

beforeAll(async () => {
  virtual = await virtualInstallation(startAt)
})
afterAll(() => virtual[Symbol.asyncDispose]())

async function expectClean(more: object = {}): Promise<void> {
  const found = await virtual.verify()
  const counts = { missed: 0, doubled: 0, stuck: 0, wrong: 0 }
  expect(found).toMatchObject({ missed: [], doubled: [], stuck: [], wrong: [], counts, ...more })
}

async function clockChange(installation: VirtualInstallation): Promise<void> {
  const berlin = { timezone: 'Europe/Berlin' }
  for (const gap of ['SHIFT', 'SKIP'] as const) {
    for (const overlap of ['FIRST', 'SECOND', 'BOTH'] as const) {
      const dst = { gap, overlap }
      await installation.create({ type: 'CRON', schedule: '30 2 * * *', ...berlin, dst })
      const anchor = '2030-01-01T02:15:00+01:00'
      await installation.create({ type: 'INTERVAL', interval: 'P1D', anchor, ...berlin, dst })
    }
  }
  await installation.create({ type: 'CRON', schedule: '*/15 * * * *', ...berlin })
  await installation.run(9 * hourMs)
  expect((await installation.verify()).checked.occurrences).toBeGreaterThan(40)
}

const everyMinute = { type: 'CRON', schedule: '* * * * *' } as const

describe('what a healthy installation does is clean', () => {
  it('zones and DST: every policy for a time that does not exist or exists twice', async () => {
    await clockChange(virtual)
    await expectClean({ late: { count: 0, worstMs: 0 }, skipped: {}, pending: 0 })
    await using autumn = await virtualInstallation(Date.UTC(2030, 9, 26, 20))
    await clockChange(autumn)
    expect(await autumn.verify()).toMatchObject({ missed: [], doubled: [], skipped: {}, pending: 0 })
  })

  it('jitter: what is nominal, but not due yet, is not looked for', async () => {
    const jittered = await virtual.create({ type: 'INTERVAL', interval: 'PT1H', jitterSec: 3_599 })
    await virtual.run(5 * hourMs + 17 * minuteMs)
    await virtual.edit(jittered, { type: 'INTERVAL', interval: 'PT1H', jitterSec: 1_200 })
    await virtual.run(3 * hourMs)
    await virtual.edit(jittered, { type: 'CRON', schedule: '7,23 * * * *', jitterSec: 900 })
    await virtual.run(3 * hourMs)
    await expectClean()
  })

  it('edits, pauses, resumes and deletes at any time', async () => {
    const edited = await virtual.create(everyMinute)
    const deleted = await virtual.create(everyMinute)
    const paused = await virtual.create({ ...everyMinute, jitterSec: 30 })
    await virtual.run(10 * minuteMs)
    await virtual.edit(edited, { type: 'CRON', schedule: '*/2 * * * *' })
    await virtual.pause(paused)
    await virtual.run(10 * minuteMs)
    await virtual.edit(paused, { type: 'CRON', schedule: '*/3 * * * *' })
    await virtual.edit(edited, { type: 'CRON', schedule: '*/2 * * * *', timeoutSec: 7 })
    await virtual.run(10 * minuteMs)
    await virtual.resume(paused)
    await virtual.pause(deleted)
    await virtual.run(4 * minuteMs)
    await virtual.remove(deleted)
    await virtual.trigger(edited)
    await virtual.run(6 * minuteMs)
    await expectClean()
    await virtual.pause(paused)
    await virtual.run(6 * minuteMs)
    // Not recorded before it is resumed; known all the same.
    const before = (await virtual.verify()).skipped.PAUSED!
    await virtual.resume(paused)
    expect((await virtual.verify()).skipped.PAUSED).toBe(before)
    await expectClean()
  })

  it.each(['FIRE_ONCE', 'FIRE_ALL', 'SKIP'] as const)('an outage, with %s', async (misfire) => {
    const policies = { ...everyMinute, misfire, maxCatchUp: 3 }
    await virtual.create(policies)
    await virtual.create({ ...policies, jitterSec: 50 })
    await virtual.create({ ...policies, graceSec: 120 })
    await virtual.create({ ...policies, misfireAfterSec: 600, endAt: virtual.now + 9 * minuteMs })
    await virtual.run(3 * minuteMs)
    virtual.down(11 * minuteMs + 13 * secondMs)
    await virtual.fireDue()
    await virtual.run(3 * minuteMs)
    await expectClean()
    const { late } = await virtual.verify()
    expect(late.count).toBeGreaterThan(0)
  })

  it('an edit, a pause and a delete in an outage, before anything was caught up with', async () => {
    const ids = await Promise.all([1, 2, 3, 4].map(() => virtual.create(everyMinute)))
    await virtual.run(2 * minuteMs)
    const { EDITED = 0, DELETED = 0 } = (await virtual.verify()).skipped
    virtual.down(10 * minuteMs + 1)
    await virtual.edit(ids[0]!, { type: 'CRON', schedule: '30 1 * * * *' })
    await virtual.pause(ids[1]!)
    await virtual.remove(ids[2]!)
    await virtual.edit(ids[3]!, { ...everyMinute, priority: 'LOW' })
    await virtual.fireDue()
    await virtual.run(minuteMs)
    await virtual.resume(ids[1]!)
    await virtual.run(5 * minuteMs)
    await expectClean()
    expect((await virtual.verify()).skipped).toMatchObject({ EDITED: EDITED + 10, DELETED: DELETED + 10 })
  })

  it('overlap policies, maxFires, endAt, startAt', async () => {
    for (const overlap of ['FORBID', 'QUEUE_ONE', 'REPLACE'] as const) await virtual.create({ ...everyMinute, overlap })
    const few = await virtual.create({ ...everyMinute, maxFires: 3, misfire: 'FIRE_ALL' })
    await virtual.create({ ...everyMinute, startAt: virtual.now + 5 * minuteMs, endAt: virtual.now + 8 * minuteMs })
    virtual.down(7 * minuteMs)
    await virtual.fireDue()
    await virtual.run(10 * minuteMs)
    await expectClean()
    await virtual.edit(few, { ...everyMinute, maxFires: 5 })
    await virtual.run(10 * minuteMs)
    await expectClean()
    expect((await virtual.verify()).skipped.OVERLAP).toBeGreaterThan(5)
  })

  it('backfills, of what has no row and of what was skipped', async () => {
    const job = await virtual.create({ ...everyMinute, misfire: 'SKIP' })
    await virtual.run(3 * minuteMs)
    virtual.down(30 * minuteMs)
    await virtual.fireDue()
    await virtual.run(2 * minuteMs)
    await virtual.backfill(job, virtual.now - 25 * minuteMs, virtual.now - 15 * minuteMs, true)
    await virtual.backfill(job, virtual.now - 2 * hourMs, virtual.now, false)
    await expectClean()
    // With another schedule than the one that was skipped.
    await virtual.pause(job)
    await virtual.run(20 * minuteMs)
    await virtual.resume(job)
    await virtual.edit(job, { type: 'CRON', schedule: '30 */7 * * * *' })
    await virtual.backfill(job, virtual.now - 20 * minuteMs, virtual.now, true)
    await expectClean()
  })

  it('what fires once', async () => {
    await virtual.create({ type: 'ONE_SHOT', runAt: virtual.now + minuteMs })
    const moved = await virtual.create({ type: 'ONE_SHOT', runAt: virtual.now + minuteMs })
    const late = await virtual.create({ type: 'DELAYED', delayMs: minuteMs })
    const paused = await virtual.create({ type: 'DELAYED', delayMs: minuteMs })
    await virtual.edit(moved, { type: 'ONE_SHOT', runAt: virtual.now + 2 * minuteMs })
    await virtual.pause(paused)
    virtual.down(70 * secondMs)
    await virtual.edit(late, { type: 'ONE_SHOT', runAt: virtual.now + 20 * minuteMs })
    await virtual.fireDue()
    await virtual.run(3 * minuteMs)
    await virtual.resume(paused)
    await expectClean()
  })

  it('in pieces as in one go', async () => {
    const whole = await virtual.verify()
    const cuts = [startAt, startAt + 5 * hourMs + 1, startAt + 11 * hourMs, virtual.now - 61_234, virtual.now]
    let occurrences = 0
    let late = 0
    for (let i = 1; i < cuts.length; i++) {
      const piece = await virtual.verify({ from: cuts[i - 1]!, to: cuts[i]! })
      expect(piece.counts).toEqual({ missed: 0, doubled: 0, stuck: 0, wrong: 0 })
      occurrences += piece.checked.occurrences
      late += piece.late.count
    }
    expect([occurrences, late]).toEqual([whole.checked.occurrences, whole.late.count])
  })
})

describe('each row that is taken out is found', () => {
  it('by its own occurrence, or by all that it stood for', async () => {
    const rows = await virtual.sql(
      `select execution_id id, coalesce(skipped_count, 1) count, reason from carillon.executions
       where origin = 'SCHEDULE' and job_id <> execution_id and job_id in (select job_id from carillon.jobs)
       order by execution_id`,
    )
    expect(rows.length).toBeGreaterThan(300)
    expect(new Set(rows.map(({ reason }) => reason)).size).toBeGreaterThan(6)
    // Of each kind one, and some at random.
    const kinds = Object.values(Object.groupBy(rows, ({ reason, count }) => `${reason} ${count > 1}`))
    const chosen = [...kinds.flatMap((kind) => kind!.slice(-1)), ...rows.filter((_, i) => i % 83 === 7)]
    for (const { id, count } of chosen) {
      const [row] = await virtual.sql('delete from carillon.executions where execution_id = $1 returning *', [id])
      const { missed, doubled, counts } = await virtual.verify()
      expect({ id, missed: counts.missed, doubled: doubled.length }).toEqual({ id, missed: count, doubled: 0 })
      expect(missed[0]!.scheduledFor).toBe(row.scheduled_for.getTime())
      await virtual.sql(
        `insert into carillon.executions select * from jsonb_populate_record(null::carillon.executions, $1)`,
        [JSON.stringify(row)],
      )
    }
    await expectClean()
  }, 120_000)
})
