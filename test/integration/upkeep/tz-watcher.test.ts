/** The tz database changed: what is to come is moved, what is due stays, and everybody is told. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { jitterOffsetMs } from '../../../packages/server/src/domain/schedule/jitter.ts'
import type { Logger } from '../../../packages/server/src/observability/logger.ts'
import { readInstallation } from '../../../packages/server/src/store/partitions/manage.ts'
import { TzWatcher } from '../../../packages/server/src/upkeep/tz-watcher.ts'
import { openStore, type TestStore } from '../../support/store.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** A day in the future; the tests choose the hour. Every job below has its occurrence at 03:00. */
const day = Math.ceil(Date.now() / dayMs) * dayMs + dayMs
const daily = { type: 'CRON', schedule: '0 3 * * *', interval: null, anchor: null } as const

let store: TestStore
const warnings: object[] = []
const logger = { warn: (detail: object) => warnings.push(detail) } as unknown as Logger

beforeAll(async () => {
  store = await openStore()
})
afterAll(() => store[Symbol.asyncDispose]())
beforeEach(async () => {
  warnings.length = 0
  await store.database.query(null, `delete from carillon.schedules`)
  await store.database.query(null, `update carillon.installation set tz_version = '2020a'`)
})

describe('the tz watcher', () => {
  it('moves what is to come, records it and reports how many moved', async () => {
    const wrong = await store.job({ ...daily, nominal: day + 2 * hourMs })
    const jittered = await store.job({ ...daily, jitterSec: 600, nominal: day + 4 * hourMs })
    const calendar = await store.job({ anchor: iso(day - 30 * dayMs), interval: 'P1D', nominal: day + hourMs })
    const right = await store.job({ ...daily, nominal: day + 3 * hourMs })
    const before = await version(right)
    await watcher(day).runOnce()
    expect(await standing(wrong)).toEqual([day + 3 * hourMs, day + 3 * hourMs])
    expect(await standing(jittered)).toEqual([day + 3 * hourMs, day + 3 * hourMs + jitterOffsetMs(jittered, 600)])
    expect(await standing(calendar)).toEqual([day, day])
    expect(await version(right)).toBe(before)
    const audit = await store.database.query(
      null,
      `select subject, detail from carillon.audit where action = 'job.moved' and actor = 'tz watcher' order by audit_id`,
    )
    expect(audit).toHaveLength(3)
    expect(audit).toContainEqual({
      subject: wrong,
      detail: { version: 1, from: day + 2 * hourMs, to: day + 3 * hourMs, tzVersion: '2030z' },
    })
    expect(warnings).toEqual([{ from: '2020a', to: '2030z', moved: 3 }])
    expect((await readInstallation(store.database)).tzVersion).toBe('2030z')
  })

  it('does not touch what is due', async () => {
    const due = await store.job({ ...daily, nominal: day + 2 * hourMs })
    await watcher(day + 2 * hourMs).runOnce()
    expect(await standing(due)).toEqual([day + 2 * hourMs, day + 2 * hourMs])
    expect(warnings).toEqual([{ from: '2020a', to: '2030z', moved: 0 }])
  })

  it('does not fire again what has fired at its local time: the next day is next', async () => {
    // Until now 03:00 was an hour earlier; today's has fired then, and 03:00 by the new rules is still to come.
    const job = await store.job({ ...daily, nominal: day + dayMs + 2 * hourMs })
    await watcher(day + 2.5 * hourMs).runOnce()
    expect(await standing(job)).toEqual([day + dayMs + 3 * hourMs, day + dayMs + 3 * hourMs])
  })

  it('does not drop what has not fired though its time by the new rules has just passed', async () => {
    const job = await store.job({ ...daily, nominal: day + 4 * hourMs })
    await watcher(day + 3.5 * hourMs).runOnce()
    expect(await standing(job)).toEqual([day + 3 * hourMs, day + 3 * hourMs])
  })

  it('moves a one-shot with the wall clock that it was asked for by, and what is shown of it', async () => {
    const [wall, wrong] = [iso(day + 3 * hourMs).slice(0, 19), day + 2 * hourMs]
    const once = { type: 'ONE_SHOT', interval: null, anchor: null, nominal: wrong, runAt: iso(wrong) } as const
    const local = await store.job({ ...once, runAtLocal: wall })
    const fixed = await store.job(once)
    await watcher(day).runOnce()
    expect(await standing(local)).toEqual([day + 3 * hourMs, day + 3 * hourMs])
    expect(Date.parse((await store.readJob(local))!.definition.runAt!)).toBe(day + 3 * hourMs)
    expect(await standing(fixed)).toEqual([wrong, wrong])
    expect(warnings).toEqual([{ from: '2020a', to: '2030z', moved: 1 }])
  })

  it('leaves schedules alone that follow elapsed time', async () => {
    const job = await store.job({ ...daily, schedule: '*/15 * * * *', nominal: day + hourMs / 4 })
    const before = await version(job)
    await watcher(day).runOnce()
    expect(await version(job)).toBe(before)
  })

  it.each([
    ['the same version', '2030z'],
    ['none', null],
  ])('computes nothing when %s is stored', async (_, stored) => {
    await store.database.query(null, 'update carillon.installation set tz_version = $1', [stored])
    const wrong = await store.job({ ...daily, nominal: day + 2 * hourMs })
    await watcher(day).runOnce()
    expect(await standing(wrong)).toEqual([day + 2 * hourMs, day + 2 * hourMs])
    expect((await readInstallation(store.database)).tzVersion).toBe('2030z')
    expect(warnings).toEqual([])
  })
})

function watcher(now: number): TzWatcher {
  return new TzWatcher({ database: store.database, clock: { now: () => now }, logger, tzVersion: '2030z' })
}

async function standing(jobId: string): Promise<(number | null)[]> {
  const job = (await store.readJob(jobId))!
  return [job.nominal, job.due]
}

/** Changes whenever the row is written. */
async function version(jobId: string): Promise<string> {
  const rows = await store.database.query(null, 'select xmin::text from carillon.schedules where job_id = $1', [jobId])
  return rows[0]!.xmin
}

function iso(at: number): string {
  return new Date(at).toISOString()
}
