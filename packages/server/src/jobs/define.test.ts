import { CarillonError, defaults, type JobInput, jobTypes, timeFields } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { defineJob, firstOccurrence, nominalAfter } from './define.ts'

const now = Date.UTC(2030, 0, 15, 12) + 0.5
const options = { jobId: '0190a5a0-0000-8000-8000-000000000001', tenant: 'acme', payload: '{}', now }
const target = { handler: 'send' }

/** A good job of each type. */
const good: Record<JobInput['type'], JobInput> = {
  ONE_SHOT: { type: 'ONE_SHOT', runAt: '2030-02-01T00:00:00Z', target },
  DELAYED: { type: 'DELAYED', delayMs: 5_000, target },
  CRON: { type: 'CRON', schedule: '0 3 * * *', target },
  INTERVAL: { type: 'INTERVAL', interval: 'PT5M', target },
  AFTER: { type: 'AFTER', after: { job: 'nightly' }, target },
}

function refused(input: object): { code: string; pointers: (string | undefined)[] } {
  try {
    defineJob(input as JobInput, options)
  } catch (error) {
    expect(error).toBeInstanceOf(CarillonError)
    const { code, errors } = error as CarillonError
    return { code, pointers: errors.map(({ pointer }) => pointer) }
  }
  throw new Error(`accepted: ${JSON.stringify(input)}`)
}

describe('a job', () => {
  it('gets the defaults for what it does not say', () => {
    expect(defineJob(good.CRON, options)).toEqual({
      ...{ jobId: options.jobId, tenant: 'acme', name: 'send', type: 'CRON', schedule: '0 3 * * *' },
      ...{
        runAt: null,
        runAtLocal: null,
        dayFields: 'EITHER',
        delayMs: null,
        after: null,
        interval: null,
        anchor: null,
        startAt: null,
        endAt: null,
        maxFires: null,
      },
      ...{ timezone: 'UTC', dst: { gap: 'SHIFT', overlap: 'FIRST' }, jitterSec: 0, misfire: 'FIRE_ONCE' },
      ...{ misfireAfterSec: 60, maxCatchUp: 1_000, graceSec: null, startWithinSec: null, deadlineSec: null },
      ...{ overlap: 'ALLOW', pool: 'default', lane: 2, handler: 'send', payload: '{}', policy: null, labels: null },
      ...{ key: null, managedBy: null },
    })
  })

  it('keeps what it says', () => {
    const job = defineJob(
      {
        ...{ ...good.CRON, name: 'daily', key: 'k', managedBy: 'git', timezone: 'Europe/Berlin', priority: 'CRITICAL' },
        ...{ dst: { gap: 'SKIP', overlap: 'BOTH' }, startAt: 0, endAt: '2031-01-01T00:00:00Z', maxFires: 3 },
        ...{ jitterSec: 30, misfire: 'SKIP', misfireAfterSec: 5, maxCatchUp: 7, graceSec: 9, overlap: 'FORBID' },
        ...{ startWithinSec: 60, deadlineSec: 600, labels: { a: 'b' }, target: { pool: 'etl', handler: 'h' } },
      },
      options,
    )
    expect(job).toMatchObject({
      ...{
        name: 'daily',
        key: 'k',
        managedBy: 'git',
        timezone: 'Europe/Berlin',
        lane: 0,
        dst: { gap: 'SKIP', overlap: 'BOTH' },
      },
      ...{
        startAt: '1970-01-01T00:00:00.000Z',
        endAt: '2031-01-01T00:00:00.000Z',
        maxFires: 3,
      },
      ...{ jitterSec: 30, misfire: 'SKIP', misfireAfterSec: 5, maxCatchUp: 7, graceSec: 9, overlap: 'FORBID' },
      ...{ startWithinSec: 60, deadlineSec: 600, labels: { a: 'b' }, pool: 'etl', handler: 'h' },
    })
  })

  it('is named by its key, else by its handler; no labels are none', () => {
    expect(defineJob({ ...good.CRON, key: 'k' }, options).name).toBe('k')
    expect(defineJob({ ...good.CRON, labels: {} }, options).labels).toBeNull()
  })
})

describe('exactly one time field, by type', () => {
  const fields = timeFields

  it.each(jobTypes)('%s fills its own column and no other', (type) => {
    const job = defineJob(good[type], options)
    const filled = Object.values(fields).filter((field) => job[field] !== null)
    expect(filled).toEqual([fields[type]])
    expect(job.anchor !== null).toBe(type === 'INTERVAL')
  })

  it.each(jobTypes.flatMap((type) => jobTypes.filter((t) => t !== type).map((other) => [type, other] as const)))(
    '%s refuses the field of %s',
    (type, other) => {
      const field = fields[other]
      expect(refused({ ...good[type], [field]: good[other][field] })).toEqual({
        code: 'VALIDATION',
        pointers: [`/${field}`],
      })
    },
  )

  it.each(['DELAYED', 'CRON', 'INTERVAL'] as const)('%s needs its own', (type) => {
    expect(refused({ type, target })).toEqual({ code: 'VALIDATION', pointers: [`/${fields[type]}`] })
  })

  it('ONE_SHOT without a time is now', () => {
    const job = defineJob({ type: 'ONE_SHOT', target }, options)
    expect(firstOccurrence(job, now)).toBe(Math.floor(now))
  })

  it('only INTERVAL has an anchor: its own, the former one, or now', () => {
    expect(refused({ ...good.CRON, anchor: 0 }).pointers).toEqual(['/anchor'])
    expect(defineJob({ ...good.INTERVAL, anchor: 5 }, options).anchor).toBe('1970-01-01T00:00:00.005Z')
    const former = '2029-01-01T00:00:00.000Z'
    expect(defineJob(good.INTERVAL, { ...options, anchor: former }).anchor).toBe(former)
    expect(defineJob(good.INTERVAL, options).anchor).toBe('2030-01-15T12:00:00.000Z')
  })
})

describe('bad values', () => {
  const bad: [pointer: string, code: string, input: object][] = [
    ['/type', 'VALIDATION', { type: 'DAILY', target }],
    ['/target/handler', 'VALIDATION', { ...good.CRON, target: {} }],
    ['/target', 'VALIDATION', { ...good.CRON, target: undefined }],
    ['/target', 'VALIDATION', { ...good.CRON, target: null }],
    ['/target/pool', 'VALIDATION', { ...good.CRON, target: { handler: 'h', pool: '' } }],
    ...(['name', 'key', 'managedBy'] as const).flatMap((field) =>
      ['', 'x'.repeat(201), 'a\u0000', null, 5].map((value): [string, string, object] => [
        `/${field}`,
        'VALIDATION',
        { ...good.CRON, [field]: value },
      ]),
    ),
    ...['', null, 5].map((timezone): [string, string, object] => [
      '/timezone',
      'VALIDATION',
      { ...good.CRON, timezone },
    ]),
    ['/timezone', 'TIMEZONE_UNKNOWN', { ...good.CRON, timezone: 'Mars/Olympus' }],
    ...[-1, 0.5, Number.NaN, '5', null].map((delayMs): [string, string, object] => [
      '/delayMs',
      'VALIDATION',
      { ...good.DELAYED, delayMs },
    ]),
    ...[5, null, {}].flatMap((value): [string, string, object][] => [
      ['/schedule', 'VALIDATION', { ...good.CRON, schedule: value }],
      ['/interval', 'VALIDATION', { ...good.INTERVAL, interval: value }],
    ]),
    ['/schedule', 'SCHEDULE_INVALID', { ...good.CRON, schedule: '61 * * * *' }],
    ['/interval', 'SCHEDULE_INVALID', { ...good.INTERVAL, interval: 'PT0.5S' }],
    ['/runAt', 'VALIDATION', { ...good.ONE_SHOT, runAt: '2030-02-30T00:00:00Z' }],
    ['/startAt', 'VALIDATION', { ...good.CRON, startAt: 'soon' }],
    ['/endAt', 'VALIDATION', { ...good.CRON, endAt: 'late' }],
    ['/anchor', 'VALIDATION', { ...good.INTERVAL, anchor: 'here' }],
    ['/maxFires', 'VALIDATION', { ...good.CRON, maxFires: 0 }],
    ['/jitterSec', 'VALIDATION', { ...good.CRON, jitterSec: -1 }],
    ['/jitterSec', 'VALIDATION', { ...good.CRON, schedule: '* * * * *', jitterSec: 60 }],
    ['/misfireAfterSec', 'VALIDATION', { ...good.CRON, misfireAfterSec: 1.5 }],
    ['/maxCatchUp', 'VALIDATION', { ...good.CRON, maxCatchUp: 0 }],
    ['/graceSec', 'VALIDATION', { ...good.CRON, graceSec: -1 }],
    ['/misfire', 'VALIDATION', { ...good.CRON, misfire: 'IGNORE' }],
    ['/overlap', 'VALIDATION', { ...good.CRON, overlap: 'MAYBE' }],
    ['/dst', 'VALIDATION', { ...good.CRON, dst: 'SKIP' }],
    ['/dst/gap', 'VALIDATION', { ...good.CRON, dst: { gap: 'LATER' } }],
    ['/dst/overlap', 'VALIDATION', { ...good.CRON, dst: { overlap: 'NEITHER' } }],
    ['/timeoutSec', 'VALIDATION', { ...good.CRON, timeoutSec: 0 }],
    ['/retryPolicy/maxAttempts', 'VALIDATION', { ...good.CRON, retryPolicy: { maxAttempts: 0 } }],
  ]

  it.each(bad)('%s: %s in %j', (pointer, code, input) => {
    expect(refused(input)).toEqual({ code, pointers: [pointer] })
  })

  it('are all told at once', () => {
    const input = { ...good.CRON, key: '', maxFires: 0, overlap: 'x', target: {} }
    expect(new Set(refused(input).pointers)).toEqual(new Set(['/key', '/maxFires', '/overlap', '/target/handler']))
  })
})

describe('where a job starts', () => {
  const start = (input: JobInput, at = now) => new Date(firstOccurrence(defineJob(input, options), at)!).toISOString()

  it.each<[JobInput, string]>([
    [good.ONE_SHOT, '2030-02-01T00:00:00.000Z'],
    [{ ...good.ONE_SHOT, runAt: '2029-01-01T00:00:00Z' }, '2029-01-01T00:00:00.000Z'],
    [good.DELAYED, '2030-01-15T12:00:05.001Z'],
    [good.CRON, '2030-01-16T03:00:00.000Z'],
    [{ ...good.CRON, startAt: '2030-03-01T00:00:00Z' }, '2030-03-01T03:00:00.000Z'],
    [good.INTERVAL, '2030-01-15T12:05:00.000Z'],
  ])('%j: %s', (input, at) => {
    expect(start(input)).toBe(at)
  })

  it.each<[string, JobInput]>([
    ['a cron that ends before its next time', { ...good.CRON, endAt: '2030-01-16T02:59:59Z' }],
    ['bounds the wrong way round', { ...good.CRON, startAt: '2031-01-01T00:00:00Z', endAt: '2030-06-01T00:00:00Z' }],
    ['a one-shot after its end', { ...good.ONE_SHOT, endAt: '2030-01-31T00:00:00Z' }],
    ['a one-shot before its start', { ...good.ONE_SHOT, startAt: '2030-02-02T00:00:00Z' }],
    ['a delay beyond the end', { ...good.DELAYED, endAt: '2030-01-15T12:00:01Z' }],
  ])('%s never fires, and that is said', (_, input) => {
    expect(() => start(input)).toThrow(expect.objectContaining({ code: 'SCHEDULE_NEVER_FIRES' }))
    expect(nominalAfter(defineJob(input, options), now)).toBeNull()
  })

  it('has a default for everything that a job may leave out', () => {
    expect(defineJob(good.CRON, options)).toMatchObject({ pool: defaults.pool, timezone: defaults.timezone })
  })
})
