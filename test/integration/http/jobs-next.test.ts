/** What will fire: of a job, and of a schedule that nobody has created yet. */
import { previewFires } from '@carillon/server/administration'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fitsContract } from '../../support/contract-check.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'

const target = { handler: 'h' }

let node: HttpNode
beforeAll(async () => {
  node = await httpNode()
})
afterAll(() => node[Symbol.asyncDispose]())

async function create(job: object): Promise<string> {
  const { status, body } = await node.ask('POST /v1/jobs', { target, ...job })
  expect(status, JSON.stringify(body)).toBe(201)
  return body.jobId
}

interface Fire {
  scheduledFor: string
  dueAt: string
  local: string
  dst: string | null
}

async function next(jobId: string, query = ''): Promise<Fire[]> {
  const answer = await node.ask(`GET /v1/jobs/${jobId}/next${query}`)
  fitsContract('nextFires', answer)
  return answer.body.fires
}

describe('the next fires of a job', () => {
  it('begin with its next fire, jitter included', async () => {
    const jobId = await create({ type: 'CRON', schedule: '0 3 * * *', timezone: 'Europe/Berlin', jitterSec: 3_600 })
    const fires = await next(jobId, '?count=3')
    const { nextFireAt } = (await node.ask(`GET /v1/jobs/${jobId}`)).body
    expect(fires).toHaveLength(3)
    expect(fires[0]!.dueAt).toBe(nextFireAt)
    for (const { scheduledFor, dueAt, local } of fires) {
      expect(local).toMatch(/T03:00:00\+0[12]:00$/)
      expect(new Date(local)).toEqual(new Date(scheduledFor))
      expect(Date.parse(dueAt) - Date.parse(scheduledFor)).toBeLessThan(3_600_000)
    }
    expect(new Set(fires.map((fire) => Date.parse(fire.dueAt) - Date.parse(fire.scheduledFor))).size).toBe(1)
    expect(await next(jobId)).toHaveLength(10)
  })

  it('end with endAt and maxFires', async () => {
    const startAt = '2090-01-01T00:00:00Z'
    const daily = { type: 'CRON', schedule: '0 0 * * *', startAt }
    expect(await next(await create({ ...daily, maxFires: 3 }))).toHaveLength(3)
    expect(await next(await create({ ...daily, endAt: '2090-01-02T00:00:00Z' }))).toHaveLength(2)
  })

  it('of one that fires once are its time', async () => {
    const jobId = await create({ type: 'ONE_SHOT', runAt: '2090-01-01T00:00:00Z' })
    expect(await next(jobId)).toEqual([
      {
        ...{ scheduledFor: '2090-01-01T00:00:00.000Z', dueAt: '2090-01-01T00:00:00.000Z' },
        ...{ local: '2090-01-01T00:00:00+00:00', dst: null },
      },
    ])
  })

  it('of a paused one are those it would have, and the answer says that it is paused', async () => {
    const jobId = await create({ type: 'CRON', schedule: '0 3 * * *' })
    const before = await next(jobId)
    const state = async () => (await node.ask(`GET /v1/jobs/${jobId}/next`)).body.state
    expect(await state()).toBe('ACTIVE')
    await node.ask(`POST /v1/jobs/${jobId}/pause`)
    expect(await next(jobId)).toEqual(before)
    expect(await state()).toBe('PAUSED')
  })

  it('are not endless', async () => {
    const jobId = await create({ type: 'CRON', schedule: '* * * * * *', startAt: '2090-01-01T00:00:00Z' })
    expect(await next(jobId, '?count=1000')).toHaveLength(1_000)
    const { status, body } = await node.ask(`GET /v1/jobs/${jobId}/next?count=1001`)
    expect({ status, pointer: body.errors[0].pointer }).toEqual({ status: 422, pointer: '/count' })
  })
})

describe('a preview', () => {
  const gap = {
    type: 'CRON',
    schedule: '30 2 * * *',
    timezone: 'Europe/Berlin',
    after: '2027-03-27T12:00:00Z',
    count: 2,
  }
  const moved = ['2027-03-28T03:30:00+02:00 SHIFTED', '2027-03-29T02:30:00+02:00 null']

  it('tells the times of any schedule, and where the clock is changed', async () => {
    const answer = await node.ask('POST /v1/schedules/preview', gap)
    fitsContract('previewSchedule', answer)
    expect(answer.body.timezone).toBe('Europe/Berlin')
    expect(answer.body.fires.map(({ local, dst }: Fire) => `${local} ${dst}`)).toEqual(moved)
  })

  it('is the same as in a program', () => {
    const { type: _, ...input } = gap
    expect(previewFires(input).fires.map(({ local, dst }) => `${local} ${dst}`)).toEqual(moved)
  })

  it('counts an interval from its anchor, or from now', async () => {
    const hourly = { type: 'INTERVAL', interval: 'PT1H', count: 1 }
    const anchored = { ...hourly, anchor: '2027-01-01T00:10:00Z', after: '2027-01-01T05:00:00Z' }
    const { body } = await node.ask('POST /v1/schedules/preview', anchored)
    expect(body.fires[0].scheduledFor).toBe('2027-01-01T05:10:00.000Z')
    expect((await node.ask('POST /v1/schedules/preview', hourly)).body.fires).toHaveLength(1)
  })

  it('may be empty', async () => {
    const { body } = await node.ask('POST /v1/schedules/preview', { ...gap, endAt: '2027-03-27T13:00:00Z' })
    expect(body.fires).toEqual([])
  })

  it.each([
    [{ type: 'CRON' }, 'VALIDATION', '/schedule'],
    [{ type: 'INTERVAL', schedule: '* * * * *' }, 'VALIDATION', '/interval'],
    [{ type: 'CRON', schedule: '* * * * *', interval: 'PT1H' }, 'VALIDATION', '/schedule'],
    [{ type: 'CRON', schedule: '* * * * *', anchor: '2027-01-01T00:00:00Z' }, 'VALIDATION', '/anchor'],
    [{ type: 'ONE_SHOT' }, 'VALIDATION', '/runAt'],
    [{ type: 'CRON', schedule: '* * *' }, 'SCHEDULE_INVALID', '/schedule'],
    [{ type: 'CRON', schedule: '0 0 31 2 *' }, 'SCHEDULE_NEVER_FIRES', '/schedule'],
    [{ type: 'INTERVAL', interval: 'PT0.5S' }, 'SCHEDULE_INVALID', '/interval'],
    [{ type: 'CRON', schedule: '* * * * *', timezone: 'Mars/Olympus' }, 'TIMEZONE_UNKNOWN', '/timezone'],
    [{ type: 'CRON', schedule: '* * * * *', after: 'tomorrow' }, 'VALIDATION', '/after'],
    [{ type: 'CRON', schedule: '* * * * *', after: '2027-02-30T00:00:00Z' }, 'VALIDATION', '/after'],
    [{ type: 'CRON', schedule: '* * * * *', count: 0 }, 'VALIDATION', '/count'],
  ])('of %j is refused', async (input, code, pointer) => {
    const { status, body } = await node.ask('POST /v1/schedules/preview', input)
    expect({ status, code: body.code, pointer: body.errors[0].pointer }).toEqual({ status: 422, code, pointer })
  })
})
