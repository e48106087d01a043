import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { firstIdAt, newId, occurrenceId, oneShotId, shardOf, submissionId, timeOf } from './identity.ts'
import { earliestInstant, latestInstant } from './schedule/time-range.ts'

const uuid8 = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const instants = fc.integer({ min: earliestInstant, max: latestInstant })
const jobIds = fc.uuid()

describe('the id of an occurrence', () => {
  it('is the same on every node, a UUID of version 8, and carries its time from 1970 to 9999', () => {
    fc.assert(
      fc.property(jobIds, instants, (jobId, nominal) => {
        const id = occurrenceId(jobId, nominal)
        expect(id).toBe(occurrenceId(jobId, nominal))
        expect(id).toMatch(uuid8)
        expect(timeOf(id)).toBe(nominal)
      }),
    )
  })

  it('stays the same from version to version: the ledger holds ids that were computed before', () => {
    expect(occurrenceId('0190a5a0-0000-8000-8000-000000000001', 1_735_689_600_000)).toBe(
      '01941f29-7c00-8268-af9c-dab37fbd51b1',
    )
  })

  it.each([earliestInstant, 1, 0xffff_ffff, 0x1_0000_0000, latestInstant])('carries the instant %i', (nominal) => {
    expect(timeOf(occurrenceId('job', nominal))).toBe(nominal)
    expect(timeOf(firstIdAt(nominal))).toBe(nominal)
  })

  it('sorts as text by time, whatever the job', () => {
    fc.assert(
      fc.property(jobIds, jobIds, instants, instants, (one, other, a, b) => {
        fc.pre(a !== b)
        expect(occurrenceId(one, a) < occurrenceId(other, b)).toBe(a < b)
      }),
    )
  })

  it('lies at or after the first id of its instant and before the first of the next', () => {
    fc.assert(
      fc.property(jobIds, fc.integer({ min: 0, max: latestInstant - 1 }), (jobId, nominal) => {
        const id = occurrenceId(jobId, nominal)
        expect(id > firstIdAt(nominal)).toBe(true)
        expect(id < firstIdAt(nominal + 1)).toBe(true)
      }),
    )
  })

  it('does not collide over jobs and times', () => {
    const jobs = Array.from({ length: 200 }, (_, i) => newId(i))
    const ids = new Set(
      jobs.flatMap((jobId) => Array.from({ length: 100 }, (_, i) => occurrenceId(jobId, 1_700_000_000_000 + i))),
    )
    expect(ids.size).toBe(20_000)
  })
})

describe('the id of a submission', () => {
  it('is unique within one instant, and of the same form', () => {
    const ids = Array.from({ length: 5_000 }, () => submissionId(1_700_000_000_000))
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.every((id) => uuid8.test(id) && timeOf(id) === 1_700_000_000_000)).toBe(true)
  })
})

describe('the id of a job that fires once', () => {
  it('is the job itself at the time the job was made for, and computed at any other', () => {
    fc.assert(
      fc.property(instants, instants, (made, moved) => {
        const jobId = newId(made)
        expect(oneShotId(jobId, made)).toBe(jobId)
        fc.pre(made !== moved)
        expect(oneShotId(jobId, moved)).toBe(occurrenceId(jobId, moved))
      }),
    )
  })
})

describe('the shard of an id', () => {
  it('is one of the shards, and the shards are filled evenly', () => {
    const counts = new Array<number>(64).fill(0)
    for (let i = 0; i < 64_000; i++) counts[shardOf(submissionId(i), 64)]!++
    // 1,000 each with a deviation of about 32: six deviations either way.
    expect(Math.min(...counts)).toBeGreaterThan(800)
    expect(Math.max(...counts)).toBeLessThan(1_200)
  })

  it('is 0 when there is only one', () => {
    expect(shardOf(newId(1), 1)).toBe(0)
  })
})
