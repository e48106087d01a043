import type { JobInput } from '@carillon/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { newId, occurrenceId, timeOf } from '../domain/identity.ts'
import { jitterOffsetMs } from '../domain/schedule/jitter.ts'
import type { DueSchedule } from '../store/schedules/read-due.ts'
import { aJob } from './plan.test-support.ts'
import { planSchedule } from './plan.ts'

const minute = 60_000
const noon = Date.UTC(2030, 0, 15, 12)
const jobId = newId(noon)
const everyMinute: JobInput = { type: 'CRON', schedule: '* * * * *', target: { handler: 'h' } }

function row(input: JobInput, more: Partial<DueSchedule> = {}): DueSchedule {
  const job = aJob(input, more.jobId ?? jobId, noon)
  const due = noon + jitterOffsetMs(job.jobId, job.jitterSec)
  return { jobId: job.jobId, shard: 0, version: 3, nominal: noon, due, fires: 0, job, ...more }
}

describe('the plan for a schedule that is due', () => {
  it('on time: one occurrence, and the row moves to the next', () => {
    expect(planSchedule(row(everyMinute), noon + 20)).toEqual({
      move: { jobId, version: 3, due: noon, nextNominal: noon + minute, nextDue: noon + minute, fires: 1 },
      occurrences: [{ jobId, executionId: occurrenceId(jobId, noon), nominal: noon, due: noon, tag: 0, skip: null }],
    })
  })

  it('names the row by what was read: FIRE refuses it if it has moved', () => {
    const { move } = planSchedule(row(everyMinute, { version: 9, due: noon + 5 }), noon + 20)
    expect(move).toMatchObject({ version: 9, due: noon + 5 })
  })

  it('jitter moves due times, never the nominal ones nor the ids', () => {
    const offset = jitterOffsetMs(jobId, 50)
    const { move, occurrences } = planSchedule(row({ ...everyMinute, jitterSec: 50 }), noon + offset)
    expect(occurrences[0]).toMatchObject({ nominal: noon, due: noon + offset, executionId: occurrenceId(jobId, noon) })
    expect(move).toMatchObject({ nextNominal: noon + minute, nextDue: noon + minute + offset })
  })

  it('misfired: one row for those that are skipped, then the latest', () => {
    const { move, occurrences } = planSchedule(row(everyMinute), noon + 10 * minute + 1)
    expect(occurrences.map(({ nominal, skip }) => [nominal - noon, skip?.reason, skip?.count])).toEqual([
      [0, 'MISFIRED', 9],
      [9 * minute, undefined, undefined],
      [10 * minute, undefined, undefined],
    ])
    expect(occurrences[0]!.skip!.last).toBe(noon + 8 * minute)
    expect(move).toMatchObject({ fires: 2, nextNominal: noon + 11 * minute })
  })

  it('the last fire that is allowed is the last', () => {
    const { move } = planSchedule(row({ ...everyMinute, maxFires: 5 }, { fires: 4 }), noon)
    expect(move).toMatchObject({ fires: 1, nextNominal: noon + 1, nextDue: null })
  })

  it('after the end of the schedule nothing fires', () => {
    const { move, occurrences } = planSchedule(row({ ...everyMinute, endAt: noon }), noon)
    expect(occurrences).toHaveLength(1)
    expect(move).toMatchObject({ nextNominal: noon + 1, nextDue: null })
  })

  it('where no fire is left it ends where it stands', () => {
    const { move, occurrences } = planSchedule(row({ ...everyMinute, maxFires: 5 }, { fires: 5 }), noon)
    expect(occurrences).toEqual([])
    expect(move).toMatchObject({ nextNominal: noon, nextDue: null, fires: 0 })
  })

  it.each<[string, JobInput]>([
    ['ONE_SHOT', { type: 'ONE_SHOT', runAt: noon, target: { handler: 'h' } }],
    ['DELAYED', { type: 'DELAYED', delayMs: 0, target: { handler: 'h' } }],
  ])('%s: fires once, under the id of the job itself', (_, input) => {
    const { move, occurrences } = planSchedule(row(input), noon + 3)
    expect(occurrences.map(({ executionId }) => executionId)).toEqual([jobId])
    expect(move).toMatchObject({ nextDue: null, fires: 1 })
  })

  it('INTERVAL: counts from its anchor', () => {
    const input: JobInput = { type: 'INTERVAL', interval: 'PT7S', anchor: noon, target: { handler: 'h' } }
    expect(planSchedule(row(input), noon).move.nextNominal).toBe(noon + 7_000)
  })

  it('whenever it is made, every id carries its nominal time, times increase, and what follows comes after all', () => {
    const policies = fc.constantFrom('FIRE_ONCE', 'FIRE_ALL', 'SKIP')
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 5_000 * minute }),
        policies,
        fc.integer({ min: 0, max: 59 }),
        (late, misfire, jitterSec) => {
          const given = row({ ...everyMinute, misfire, jitterSec })
          const { move, occurrences } = planSchedule(given, given.due + late)
          let last = -1
          for (const { executionId, nominal, due, skip } of occurrences) {
            expect(timeOf(executionId)).toBe(nominal)
            expect(nominal).toBeGreaterThan(last)
            expect(due - nominal).toBe(given.due - given.nominal)
            last = skip?.last ?? nominal
          }
          expect(move.nextNominal).toBeGreaterThan(last)
          expect(move.fires).toBe(occurrences.filter(({ skip }) => skip === null).length)
        },
      ),
      { numRuns: 40 },
    )
  })
})
