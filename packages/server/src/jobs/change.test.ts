import type { JobInput } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { jitterOffsetMs } from '../domain/schedule/jitter.ts'
import type { JobRecord } from '../store/rows.ts'
import { paused, redefined, removed, resumed } from './change.ts'
import { defineJob } from './define.ts'

const hourMs = 3_600_000
const noon = Date.UTC(2030, 0, 15, 12)
const moment = { now: noon + 60_000, floor: 0 }
const jobId = '01941f29-7c00-8aaa-8aaa-aaaaaaaaaaaa'

function definition(more: Partial<JobInput> = {}) {
  const input = { type: 'CRON', schedule: '0 * * * *', target: { handler: 'h' }, ...more } as JobInput
  return defineJob(input, { jobId, tenant: 'acme', payload: null, now: noon - hourMs })
}

/** It stands at noon, a minute ago. */
function job(more: Partial<JobRecord> = {}): JobRecord {
  return {
    ...{ definition: definition(), version: 3, state: 'ACTIVE', shard: 0, nominal: noon, due: noon, fires: 7 },
    ...{ createdAt: 0, updatedAt: 0, ...more },
  }
}

describe('a change of the definition', () => {
  it('that leaves the times alone leaves the schedule where it stands', () => {
    expect(redefined(job(), definition({ name: 'x' }), null, moment)).toMatchObject({
      nominal: noon,
      due: noon,
      skipped: [],
    })
  })

  it('keeps an occurrence whose time has come if it is still one', () => {
    const change = redefined(job(), definition({ schedule: '0,30 * * * *' }), null, moment)
    expect(change).toMatchObject({ nominal: noon, skipped: [] })
  })

  it('records one that it removes', () => {
    const change = redefined(job(), definition({ schedule: '30 * * * *' }), null, moment)
    expect(change).toMatchObject({ nominal: noon + hourMs / 2, skipped: [{ nominal: noon, reason: 'EDITED' }] })
  })

  it('after an outage records all that it removes, not only the first', () => {
    const late = { now: noon + 3 * hourMs + 60_000, floor: 0 }
    const change = redefined(job(), definition({ schedule: '30 * * * *' }), null, late)
    expect(change.nominal).toBe(noon + 3.5 * hourMs)
    expect(change.skipped).toMatchObject([{ nominal: noon, last: noon + 3 * hourMs, count: 4, reason: 'EDITED' }])
    const forgetful = { ...late, floor: noon + 2 * hourMs }
    expect(redefined(job(), definition({ schedule: '30 * * * *' }), null, forgetful).skipped).toMatchObject([
      { nominal: noon + 2 * hourMs, last: noon + 3 * hourMs },
    ])
  })

  it('of a paused job records what has passed', () => {
    const since = job({ state: 'PAUSED', nominal: noon - 2 * hourMs, due: null })
    const change = redefined(since, definition({ schedule: '30 * * * *' }), null, moment)
    expect(change).toMatchObject({ state: 'PAUSED', nominal: noon + hourMs / 2, due: null })
    expect(change.skipped).toMatchObject([{ nominal: noon - 2 * hourMs, last: noon, count: 3, reason: 'PAUSED' }])
  })

  it('of a paused job between an occurrence and its jitter neither loses nor doubles it', () => {
    const spread = { jitterSec: 1_800 }
    const now = noon + jitterOffsetMs(jobId, 1_800) - 1
    const since = job({ definition: definition(spread), state: 'PAUSED', nominal: noon, due: null })
    const kept = redefined(since, definition({ ...spread, schedule: '0 */2 * * *' }), null, { ...moment, now })
    expect(kept).toMatchObject({ nominal: noon, skipped: [] })
    const removes = redefined(since, definition({ ...spread, schedule: '30 23 * * *' }), null, { ...moment, now })
    expect(removes.skipped).toMatchObject([{ nominal: noon, reason: 'EDITED' }])
  })

  it('of a completed job brings it back only if something is to come', () => {
    const done = job({ definition: definition({ maxFires: 7 }), state: 'COMPLETED', nominal: null, due: null })
    expect(redefined(done, definition({ maxFires: 7, name: 'x' }), null, moment).state).toBe('COMPLETED')
    expect(redefined(done, definition({ maxFires: 8 }), null, moment)).toMatchObject({
      ...{ state: 'ACTIVE', nominal: noon + hourMs },
    })
    expect(() => redefined(done, definition({ maxFires: 6 }), null, moment)).toThrow('has fired 7 times already')
  })
})

describe('pause, resume and delete', () => {
  it('change nothing twice', () => {
    expect(paused(job({ state: 'PAUSED' }))).toBeNull()
    expect(resumed(job(), moment)).toBeNull()
  })

  it('are refused where there is nothing to come', () => {
    expect(() => paused(job({ state: 'COMPLETED' }))).toThrow('COMPLETED cannot be paused')
    expect(() => resumed(job({ state: 'COMPLETED' }), moment)).toThrow('COMPLETED cannot be resumed')
  })

  it('record what has passed while the job was paused, as far back as there is history', () => {
    const since = job({ state: 'PAUSED', nominal: noon - 2 * hourMs, due: null })
    expect(resumed(since, moment)).toMatchObject({
      ...{ state: 'ACTIVE', nominal: noon + hourMs, due: noon + hourMs },
      skipped: [{ nominal: noon - 2 * hourMs, last: noon, count: 3 }],
    })
    expect(removed(since, moment)).toMatchObject({ state: 'DELETED', due: null, skipped: [{ count: 3 }] })
    expect(resumed(since, { ...moment, floor: noon + 1 })!.skipped).toEqual([])
  })

  it('a delete of an active job records nothing', () => {
    expect(removed(job(), moment)).toMatchObject({ state: 'DELETED', nominal: null, due: null, skipped: [] })
  })
})
