/** A forecast and the previews of its jobs say the same. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import '../../packages/server/src/lib/temporal.ts'
import {
  ForecastTable,
  type ScheduleGroup,
  type Step,
  stepMs,
} from '../../packages/server/src/domain/schedule/forecast.ts'
import { jitterOffsetMs } from '../../packages/server/src/domain/schedule/jitter.ts'
import { nextWithin } from '../../packages/server/src/domain/schedule/schedule.ts'
import { forecastView } from '../../packages/server/src/forecast/view.ts'
import { nextFiresOf } from '../../packages/server/src/jobs/preview.ts'
import { boundsOf, recurringSpecOf, scheduleOf } from '../../packages/server/src/store/job-schedule.ts'
import type { JobDefinition } from '../../packages/server/src/store/jobs/definition.ts'
import type { JobRecord } from '../../packages/server/src/store/rows.ts'

const minuteMs = 60_000
const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** Half an hour before the clocks of Berlin go forward. */
const start = Date.UTC(2030, 2, 31, 0, 30, 17, 250)
const anywhere = { from: 0, to: Number.MAX_SAFE_INTEGER }

function jobOf(
  id: number,
  times: Partial<JobDefinition>,
  { nominal, fires = 0 }: { nominal?: number; fires?: number } = {},
) {
  const definition = {
    ...{
      jobId: `00000000-0000-8000-8000-${String(id).padStart(12, '0')}`,
      schedule: null,
      interval: null,
      anchor: null,
    },
    ...{ timezone: 'UTC', dst: { gap: 'SHIFT', overlap: 'FIRST' }, dayFields: 'EITHER', startAt: null, endAt: null },
    ...{
      maxFires: null,
      jitterSec: 0,
      runAt: null,
      runAtLocal: null,
      pool: 'p',
      handler: 'h',
      name: `job ${id}`,
      ...times,
    },
  } as unknown as JobDefinition
  const found = nominal ?? nextWithin(scheduleOf(definition, null), boundsOf(definition), start)
  return { definition, state: 'ACTIVE', nominal: found, due: found, fires } as JobRecord
}

function groupOf({ definition, nominal, fires }: JobRecord): ScheduleGroup {
  const { jobId, name, pool, handler, jitterSec, maxFires } = definition
  return {
    ...{ spec: recurringSpecOf(definition), bounds: boundsOf(definition), nominal: nominal! },
    ...{ jitterMs: jitterOffsetMs(jobId, jitterSec), left: maxFires === null ? null : maxFires - fires },
    ...{ targets: [{ pool, handler, jobs: 1 }], sample: [{ jobId, name: name! }] },
  }
}

async function tableOf(jobs: readonly JobRecord[], meanMs: number | null = null): Promise<ForecastTable> {
  const table = new ForecastTable(start, () => meanMs)
  for (const job of jobs) if (job.nominal !== null) await table.add(groupOf(job))
  await table.finish()
  return table
}

/** The fires of a table by bucket, and the same from the previews. */
function both(table: ForecastTable, jobs: readonly JobRecord[], step: Step, aboutUntil: number) {
  const until = Math.floor(aboutUntil / stepMs[step]) * stepMs[step]
  const counted = new Map<number, number>()
  for (const pool of table.pools) {
    for (const { at, fires } of table.buckets(pool, step, { from: 0, to: until })) counted.set(at, fires)
  }
  const previewed = new Map<number, number>()
  for (const job of jobs) {
    for (const { dueAt } of nextFiresOf(job, start, 12_000).fires) {
      const due = Math.max(dueAt.getTime(), start)
      if (due >= until) continue
      const at = Math.floor(due / stepMs[step]) * stepMs[step]
      previewed.set(at, (previewed.get(at) ?? 0) + 1)
    }
  }
  const sorted = (map: Map<number, number>) => [...map].sort(([a], [b]) => a - b)
  return [sorted(counted), sorted(previewed)]
}

const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe')
const dst = fc.record({ gap: fc.constantFrom('SHIFT', 'SKIP'), overlap: fc.constantFrom('FIRST', 'SECOND', 'BOTH') })
const minute = fc.integer({ min: 0, max: 59 })
const crons = fc.oneof(
  fc.tuple(minute, fc.integer({ min: 0, max: 23 })).map(([m, h]) => `${m} ${h} * * *`),
  minute.map((m) => `${m} * * * *`),
  fc.constantFrom('*/15 * * * *', '0 0 1 * *', '30 2 * * 0', '0 9 * * 1-5', '15 30 2 * * *', '0 */5 * * *'),
)
const intervals = fc.constantFrom('PT1H', 'PT37M', 'P1D', 'P1W', 'P1M', 'P1DT1H', 'PT90M')
const times = fc
  .record({
    ...{ cron: fc.option(crons), interval: intervals, timezone: zones, dst, jitterSec: fc.constantFrom(0, 0, 1, 299) },
    anchor: fc.integer({ min: start - 40 * dayMs, max: start + 2 * dayMs }),
    startIn: fc.option(fc.integer({ min: -dayMs, max: 3 * dayMs })),
    endIn: fc.option(fc.integer({ min: -hourMs, max: 20 * dayMs })),
    maxFires: fc.option(fc.integer({ min: 1, max: 100 })),
  })
  .map(({ cron, interval, anchor, startIn, endIn, ...rest }) => ({
    ...rest,
    ...(cron === null ? { interval, anchor: iso(anchor) } : { schedule: cron }),
    startAt: startIn === null ? null : iso(start + startIn),
    endAt: endIn === null ? null : iso(start + endIn),
  }))
const overdue = fc.constantFrom(0, 0, minuteMs, 5 * hourMs)

function iso(at: number): string {
  return new Date(at).toISOString()
}

describe('whatever the jobs are, they fire when their previews say so', () => {
  const jobs = fc.array(fc.record({ times, overdue, fires: fc.integer({ min: 0, max: 50 }) }), { maxLength: 6 })

  it('by minute and by hour', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(jobs, async (given) => {
        const records = given
          .map(({ times, overdue, fires }, i) => {
            const known = jobOf(i, times as never, { fires })
            const { definition } = known
            const before = nextWithin(scheduleOf(definition, null), boundsOf(definition), start - overdue)
            return { ...known, nominal: before, due: before }
          })
          .filter(({ nominal, definition, fires }) => nominal !== null && (definition.maxFires ?? 99) > fires)
        const table = await tableOf(records)
        const [minutes, previewed] = both(table, records, 'MINUTE', start + dayMs)
        expect(minutes).toEqual(previewed)
        const [hours, alsoPreviewed] = both(table, records, 'HOUR', start + 30 * dayMs)
        expect(hours).toEqual(alsoPreviewed)
        expect(table.jobs + table.leftOut).toBe(records.length)
        expect(table.leftOut).toBe(0)
      }),
      { numRuns: 60 },
    )
  })

  it.each([
    ['* * * * * *', {}],
    ['*/10 * * * * *', { endAt: iso(start + 90 * minuteMs) }],
    ['*/20 * * * * *', { jitterSec: 15 }],
    ['* * * * * *', { maxFires: 9_000 }],
  ])('one that fires all the time, too: %s %j', async (schedule, more) => {
    const job = jobOf(1, { schedule, ...more })
    const table = await tableOf([job])
    for (const step of ['MINUTE', 'HOUR'] as const) {
      const [counted, previewed] = both(table, [job], step, start + 2 * hourMs)
      expect(counted).toEqual(previewed)
    }
  })

  it('one that fires once fires once, and one that is overdue fires now', async () => {
    const jobs = [jobOf(1, {}, { nominal: start + 90 * minuteMs }), jobOf(2, {}, { nominal: start - dayMs })]
    const table = await tableOf(jobs)
    const [counted, previewed] = both(table, jobs, 'HOUR', start + 30 * dayMs)
    expect(counted).toEqual(previewed)
    expect(counted).toHaveLength(2)
  })
})

describe('what it costs is bounded', () => {
  it('a schedule that cannot be computed is left out, and counted', async () => {
    const table = await tableOf([jobOf(1, { schedule: '61 * * * *' }, { nominal: start + 1 })])
    expect([table.jobs, table.leftOut]).toEqual([0, 1])
  })

  it('what fires too often in too many ways is left out', async () => {
    const table = new ForecastTable(start, () => null)
    const pools = ['p', 'q']
    let jobs = 0
    for (let i = 0; i < 200; i++) {
      const { definition } = jobOf(i, { schedule: `${i % 60} * * * * *`, endAt: iso(start + 100 * dayMs + i) })
      const group = groupOf({ definition, nominal: start + 60_000, fires: 0 } as JobRecord)
      await table.add({ ...group, targets: pools.map((pool) => ({ pool, handler: 'h', jobs: 5 })) })
      jobs += 10
    }
    expect(table.jobs + table.leftOut).toBe(jobs)
    expect(table.leftOut).toBeGreaterThan(0)
    // 43,260 steps for each, of 5,000,000.
    expect(table.jobs).toBe(1_150)
  })
})

describe('the answer', () => {
  const daily = (id: number, hour: number, more = {}) => jobOf(id, { schedule: `0 ${hour} * * *`, ...more })
  const question = { step: 'HOUR', pool: null, from: start, to: start + 2 * dayMs, slots: new Map([['p', 2]]) } as const

  it('has collisions, the largest first chosen, by time', async () => {
    const table = await tableOf([daily(1, 3), daily(2, 3), daily(3, 3), daily(4, 5), daily(5, 5), daily(6, 7)])
    const { collisions } = forecastView(table, { ...question, to: start + dayMs })
    const at = (hour: number) => iso(Date.UTC(2030, 2, 31, hour))
    expect(collisions.map(({ at, fires }) => [at, fires])).toEqual([
      [at(3), 3],
      [at(5), 2],
    ])
    expect(collisions[0]!.jobs[0]).toEqual({ jobId: daily(1, 3).definition.jobId, name: 'job 1' })
    expect(table.collisions(anywhere, 1)).toMatchObject([{ fires: 3, at: Date.UTC(2030, 2, 31, 3) }])
  })

  it('knows which pools will be saturated', async () => {
    const jobs = [daily(1, 3), daily(2, 3), daily(3, 3), daily(4, 5), daily(5, 5, { pool: 'q' })]
    const table = await tableOf(jobs, hourMs)
    const { pools, fires, jobs: computed } = forecastView(table, question)
    expect([fires, computed]).toEqual([10, 5])
    expect(pools).toMatchObject([
      { pool: 'p', slots: 2, meanMs: hourMs, fires: 8 },
      { pool: 'q', slots: 0, fires: 2, buckets: [{ busy: 1, saturated: true }, { saturated: true }] },
    ])
    const shown = pools[0]!.buckets.slice(0, 2).map(({ fires, busy, saturated }) => [fires, busy, saturated])
    expect(shown).toEqual([
      [3, 3, true],
      [1, 1, false],
    ])
    const unmeasured = forecastView(await tableOf(jobs), { ...question, pool: 'p' })
    expect(unmeasured.pools).toMatchObject([{ meanMs: null, buckets: [{ busy: null, saturated: false }, {}, {}, {}] }])
    expect(unmeasured.fires).toBe(8)
  })

  it('begins and ends with a bucket', async () => {
    const view = forecastView(await tableOf([daily(1, 3)]), { ...question, from: start, to: start + 1 })
    expect(view).toMatchObject({ from: '2030-03-31T00:00:00.000Z', to: '2030-03-31T01:00:00.000Z', buckets: [] })
  })
})
