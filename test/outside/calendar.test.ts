/** The calendar over HTTP, as somebody meets it who comes from another scheduler: local times, day fields, odd expressions. */
import { limits } from '@carillon/contract'
import { checkJob, previewFires } from '@carillon/server/administration'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseCron } from '../../packages/server/src/domain/schedule/cron-fields.ts'
import { fitsContract } from '../support/contract-check.ts'
import { type HttpNode, httpNode } from '../support/http-node.ts'

const target = { handler: 'h' }
const newYork = 'America/New_York'

let node: HttpNode
beforeAll(async () => {
  node = await httpNode()
})
afterAll(() => node[Symbol.asyncDispose]())

async function create(job: object) {
  const answer = await node.ask('POST /v1/jobs', { target, ...job })
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  return answer.body
}

async function refused(job: object): Promise<{ code: string; pointer: string; hint?: string }> {
  const { status, body } = await node.ask('POST /v1/jobs', { target, ...job })
  expect(status, JSON.stringify(body)).toBe(422)
  return { code: body.code, ...body.errors[0] }
}

describe('a one-shot at a local time', () => {
  const local = { type: 'ONE_SHOT', timezone: newYork }

  it.each([
    ['an ordinary day', '2090-01-31T08:00', {}, '2090-01-31T13:00:00.000Z', null],
    ['a gap, moved', '2090-03-12T02:30:00', {}, '2090-03-12T07:30:00.000Z', 'SHIFTED'],
    ['twice, the first', '2090-11-05T01:30:00', {}, '2090-11-05T05:30:00.000Z', 'FIRST'],
    ['twice, the second', '2090-11-05T01:30:00', { overlap: 'SECOND' }, '2090-11-05T06:30:00.000Z', 'SECOND'],
  ])('%s', async (_, runAt, dst, expected, mark) => {
    const job = await create({ ...local, runAt, dst })
    expect(job).toMatchObject({ runAt: expected, runAtLocal: `${runAt}:00`.slice(0, 19), nextFireAt: expected })
    const next = await node.ask(`GET /v1/jobs/${job.jobId}/next`)
    fitsContract('nextFires', next)
    expect(next.body.fires).toMatchObject([{ scheduledFor: expected, dst: mark }])
    const preview = await node.ask('POST /v1/schedules/preview', { ...local, runAt, dst })
    fitsContract('previewSchedule', preview)
    expect(preview.body.fires).toMatchObject([{ scheduledFor: expected, dst: mark }])
  })

  it('moves with its zone; an instant does not', async () => {
    const { jobId } = await create({ ...local, runAt: '2090-01-31T08:00:00' })
    const moved = await node.ask(`PATCH /v1/jobs/${jobId}`, { timezone: 'Europe/Berlin' })
    expect(moved.body).toMatchObject({ runAt: '2090-01-31T07:00:00.000Z', runAtLocal: '2090-01-31T08:00:00' })
    const fixed = await node.ask(`PATCH /v1/jobs/${jobId}`, { runAt: '2090-02-01T00:00:00Z' })
    expect(fixed.body).toMatchObject({ runAt: '2090-02-01T00:00:00.000Z', runAtLocal: null, version: 3 })
    const same = await node.ask(`PATCH /v1/jobs/${jobId}`, { timezone: 'Asia/Tokyo' })
    expect(same.body).toMatchObject({ runAt: '2090-02-01T00:00:00.000Z', runAtLocal: null })
  })

  it('put again under its key is the same job', async () => {
    const job = { ...local, key: 'local', runAt: '2090-01-31T08:00' }
    const { jobId } = await create(job)
    const again = await node.ask('POST /v1/jobs', { target, ...job, runAt: '2090-01-31T08:00:00.000' })
    expect({ status: again.status, body: again.body }).toMatchObject({ status: 200, body: { jobId, version: 1 } })
  })

  it.each([
    ['no zone', { timezone: undefined, runAt: '2090-01-31T08:00' }, 'VALIDATION', '/runAt', 'timezone'],
    ['no such day', { runAt: '2090-02-30T08:00' }, 'VALIDATION', '/runAt', undefined],
    ['hour 24', { runAt: '2090-02-01T24:00' }, 'VALIDATION', '/runAt', undefined],
    ['no time at all', { runAt: 'tomorrow' }, 'VALIDATION', '/runAt', undefined],
    ['both of one', { runAt: '2090-11-05T01:30', dst: { overlap: 'BOTH' } }, 'VALIDATION', '/dst/overlap', 'FIRST'],
    ['a gap, skipped', { runAt: '2090-03-12T02:30', dst: { gap: 'SKIP' } }, 'SCHEDULE_NEVER_FIRES', '/runAt', 'SHIFT'],
  ])('is refused: %s', async (_, job, code, pointer, hint) => {
    const error = await refused({ ...local, ...job })
    expect(error).toMatchObject({ code, pointer })
    if (hint !== undefined) expect(error.hint).toContain(hint)
  })
})

describe('day fields', () => {
  const friday13 = { type: 'CRON', schedule: '0 0 13 * FRI', timezone: 'UTC' }
  const after = '2026-01-01T00:00:00Z'

  it('EITHER unless BOTH is asked for, in job, preview and change', async () => {
    const either = await create(friday13)
    expect(either.dayFields).toBe('EITHER')
    const both = await create({ ...friday13, dayFields: 'BOTH' })
    expect(both.dayFields).toBe('BOTH')
    expect(new Date(both.nextFireAt).getUTCDate()).toBe(13)
    expect(new Date(both.nextFireAt).getUTCDay()).toBe(5)
    const preview = await node.ask('POST /v1/schedules/preview', { ...friday13, dayFields: 'BOTH', after, count: 3 })
    expect(preview.body.fires.map((fire: { local: string }) => fire.local.slice(0, 10))).toEqual([
      ...['2026-02-13', '2026-03-13', '2026-11-13'],
    ])
    const changed = await node.ask(`PATCH /v1/jobs/${either.jobId}`, { dayFields: 'BOTH' })
    expect(changed.body).toMatchObject({ dayFields: 'BOTH', nextFireAt: both.nextFireAt, version: 2 })
    const back = await node.ask(`PATCH /v1/jobs/${either.jobId}`, { dayFields: null })
    expect(back.body).toMatchObject({ dayFields: 'EITHER', nextFireAt: either.nextFireAt, version: 3 })
    const other = await node.ask(`PATCH /v1/jobs/${both.jobId}`, { type: 'INTERVAL', interval: 'PT1H' })
    expect(other.body).toMatchObject({ type: 'INTERVAL', dayFields: 'EITHER' })
  })

  it('belong to crons', async () => {
    const error = await refused({ type: 'INTERVAL', interval: 'PT1H', dayFields: 'BOTH' })
    expect(error).toMatchObject({ code: 'VALIDATION', pointer: '/dayFields' })
  })
})

describe('an expression', () => {
  it.each([
    ['0 0 * * FRI-MON', 201],
    ['0 22-4/2 * * *', 201],
    ['0 0 L-2W * *', 201],
    ['0 0 1 NOVEMBER-february MONDAY', 201],
    ['@every 1h', 'PT1H'],
    ['0 24 * * *', 'write 0'],
    ['0 0 * * MOND', 'Write MON'],
  ])('%s is taken, or refused with what to write instead', async (schedule, expected) => {
    if (expected === 201) await create({ type: 'CRON', schedule })
    else expect((await refused({ type: 'CRON', schedule })).hint).toContain(expected)
  })

  it('may be as long everywhere', async () => {
    const most = `${'0,'.repeat(490)}0`.padEnd(limits.scheduleLength - 8, ' ').concat(' * * * *')
    expect(most).toHaveLength(limits.scheduleLength)
    await create({ type: 'CRON', schedule: most })
    expect(checkJob({ type: 'CRON', schedule: most, target }, Date.UTC(2030, 0, 1))).toEqual([])
    expect(previewFires({ schedule: most, after: 0 }).fires).toHaveLength(10)
    expect(await refused({ type: 'CRON', schedule: `${most} ` })).toMatchObject({ pointer: '/schedule' })
    expect(checkJob({ type: 'CRON', schedule: `${most} `, target }, Date.UTC(2030, 0, 1))).not.toEqual([])
    expect(() => parseCron(`${most} `)).toThrow()
  })

  it('in many unknown zones is refused without holding up the others', async () => {
    const jobs = Array.from({ length: 500 }, (_, i) => ({
      ...{ type: 'CRON', schedule: '0 3 * * *', target, timezone: `Europe/${'Nowhere'.repeat((i % 20) + 1)}${i}` },
    }))
    const { status, body } = await node.ask('POST /v1/jobs/batch', { jobs })
    expect(status).toBe(422)
    expect(JSON.stringify(body)).toContain('is not a zone of the tz database')
  })
})
