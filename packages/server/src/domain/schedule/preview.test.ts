import type { DstPolicy } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { preview, type RecurringSpec } from './preview.ts'
import { unbounded } from './schedule.ts'

const usual: DstPolicy = { gap: 'SHIFT', overlap: 'FIRST' }

function cron(expression: string, timezone: string, dst: Partial<DstPolicy> = {}): RecurringSpec {
  return { type: 'CRON', expression, timezone, dst: { ...usual, ...dst }, dayFields: 'EITHER' }
}

function every(interval: string, anchor: string): RecurringSpec {
  return { type: 'INTERVAL', interval, anchor: Date.parse(anchor), timezone: 'America/New_York', dst: usual }
}

function marked(spec: RecurringSpec, after: string, count: number): string[] {
  return preview(spec, unbounded, Date.parse(after), count).fires.map(({ local, dst }) => `${local} ${dst}`)
}

describe('the next times of a schedule', () => {
  it.each([
    [
      'New York, spring: 02:30 does not exist on the 14th',
      cron('30 2 * * *', 'America/New_York'),
      '2027-03-13T00:00:00Z',
      ['2027-03-13T02:30:00-05:00 null', '2027-03-14T03:30:00-04:00 SHIFTED', '2027-03-15T02:30:00-04:00 null'],
    ],
    [
      'New York, spring, skipping it',
      cron('30 2 * * *', 'America/New_York', { gap: 'SKIP' }),
      '2027-03-13T00:00:00Z',
      ['2027-03-13T02:30:00-05:00 null', '2027-03-15T02:30:00-04:00 null'],
    ],
    [
      'New York, spring: an occurrence onto which another was moved is still its own',
      cron('30 2,3 * * *', 'America/New_York'),
      '2027-03-14T04:00:00Z',
      ['2027-03-14T03:30:00-04:00 null', '2027-03-15T02:30:00-04:00 null'],
    ],
    [
      'New York, autumn: 01:30 exists twice',
      cron('30 1 * * *', 'America/New_York'),
      '2027-11-07T00:00:00Z',
      ['2027-11-07T01:30:00-04:00 FIRST', '2027-11-08T01:30:00-05:00 null'],
    ],
    [
      'New York, autumn, the second time',
      cron('30 1 * * *', 'America/New_York', { overlap: 'SECOND' }),
      '2027-11-07T00:00:00Z',
      ['2027-11-07T01:30:00-05:00 SECOND', '2027-11-08T01:30:00-05:00 null'],
    ],
    [
      'New York, autumn, both times',
      cron('30 1 * * *', 'America/New_York', { overlap: 'BOTH' }),
      '2027-11-07T00:00:00Z',
      ['2027-11-07T01:30:00-04:00 FIRST', '2027-11-07T01:30:00-05:00 SECOND', '2027-11-08T01:30:00-05:00 null'],
    ],
    [
      'Berlin, spring',
      cron('0 2 * * *', 'Europe/Berlin'),
      '2027-03-27T12:00:00Z',
      ['2027-03-28T03:00:00+02:00 SHIFTED', '2027-03-29T02:00:00+02:00 null'],
    ],
    [
      'Berlin, autumn: the hour begins at 02:00 and is over at 03:00',
      cron('0,59 2,3 * * *', 'Europe/Berlin'),
      '2027-10-30T12:00:00Z',
      [
        ...['2027-10-31T02:00:00+02:00 FIRST', '2027-10-31T02:59:00+02:00 FIRST'],
        ...['2027-10-31T03:00:00+01:00 null', '2027-10-31T03:59:00+01:00 null'],
      ],
    ],
    [
      'Lord Howe, spring: the clock jumps by half an hour',
      cron('15,45 2 * * *', 'Australia/Lord_Howe'),
      '2027-10-02T12:00:00Z',
      ['2027-10-03T02:45:00+11:00 null', '2027-10-04T02:15:00+11:00 null'],
    ],
    [
      'Lord Howe, spring: what does not exist comes half an hour later',
      cron('10 2 * * *', 'Australia/Lord_Howe'),
      '2027-10-02T12:00:00Z',
      ['2027-10-03T02:40:00+11:00 SHIFTED', '2027-10-04T02:10:00+11:00 null'],
    ],
    [
      'Lord Howe, autumn: half an hour comes twice',
      cron('15,45 1 * * *', 'Australia/Lord_Howe', { overlap: 'BOTH' }),
      '2027-04-03T10:00:00Z',
      [
        ...['2027-04-04T01:15:00+11:00 null', '2027-04-04T01:45:00+11:00 FIRST'],
        ...['2027-04-04T01:45:00+10:30 SECOND', '2027-04-05T01:15:00+10:30 null'],
      ],
    ],
    [
      'every hour, spring: nothing is moved',
      cron('0 * * * *', 'America/New_York'),
      '2027-03-14T05:30:00Z',
      ['2027-03-14T01:00:00-05:00 null', '2027-03-14T03:00:00-04:00 null', '2027-03-14T04:00:00-04:00 null'],
    ],
    [
      'every hour, autumn: both passes',
      cron('0 * * * *', 'America/New_York'),
      '2027-11-07T04:30:00Z',
      ['2027-11-07T01:00:00-04:00 FIRST', '2027-11-07T01:00:00-05:00 SECOND', '2027-11-07T02:00:00-05:00 null'],
    ],
    [
      'a day apart on the calendar',
      every('P1D', '2027-03-12T07:30:00Z'),
      '2027-03-13T00:00:00Z',
      ['2027-03-13T02:30:00-05:00 null', '2027-03-14T03:30:00-04:00 SHIFTED', '2027-03-15T02:30:00-04:00 null'],
    ],
    [
      'a day apart by the clock of physics',
      every('PT24H', '2027-03-13T07:30:00Z'),
      '2027-03-13T00:00:00Z',
      ['2027-03-13T02:30:00-05:00 null', '2027-03-14T03:30:00-04:00 null'],
    ],
    [
      'no daylight saving at all',
      cron('30 2 * * *', 'UTC'),
      '2027-03-13T00:00:00Z',
      ['2027-03-13T02:30:00+00:00 null', '2027-03-14T02:30:00+00:00 null'],
    ],
  ])('%s', (_, spec, after, expected) => {
    expect(marked(spec, after, expected.length)).toEqual(expected)
  })

  it.each([
    [
      'a time that the clock jumps over is moved',
      cron('30 2/6 * * *', 'America/New_York'),
      '2026-03-08T00:00:00Z',
      ['SHIFTED 2026-03-08T02:30:00 x1'],
    ],
    [
      'or left out',
      cron('30 2/6 * * *', 'America/New_York', { gap: 'SKIP' }),
      '2026-03-08T00:00:00Z',
      ['SKIPPED 2026-03-08T02:30:00 x1'],
    ],
    [
      'or falls on a time that runs anyway',
      cron('0,30 2,3 * * *', 'America/New_York'),
      '2026-03-08T00:00:00Z',
      ['MERGED 2026-03-08T02:00:00 x2'],
    ],
    [
      'half an hour: one is moved, one stays',
      cron('10,40 2 * * *', 'Australia/Lord_Howe'),
      '2027-10-02T12:00:00Z',
      ['MERGED 2027-10-03T02:10:00 x1'],
    ],
    [
      'a time that comes twice',
      cron('30 1/12 * * *', 'America/New_York'),
      '2026-11-01T00:00:00Z',
      ['FIRST 2026-11-01T01:30:00 x1'],
    ],
    [
      'the second time',
      cron('30 1/12 * * *', 'America/New_York', { overlap: 'SECOND' }),
      '2026-11-01T00:00:00Z',
      ['SECOND 2026-11-01T01:30:00 x1'],
    ],
    [
      'both times',
      cron('*/30 1 * * *', 'America/New_York', { overlap: 'BOTH' }),
      '2026-11-01T00:00:00Z',
      ['BOTH 2026-11-01T01:00:00 x2'],
    ],
    [
      'every hour follows elapsed time, spring',
      cron('0 * * * *', 'America/New_York'),
      '2026-03-08T05:00:00Z',
      ['SKIPPED 2026-03-08T02:00:00 x1'],
    ],
    [
      'every hour follows elapsed time, autumn',
      cron('0 * * * *', 'America/New_York'),
      '2026-11-01T04:00:00Z',
      ['BOTH 2026-11-01T01:00:00 x1'],
    ],
    [
      'a day apart on the calendar',
      every('P1D', '2026-03-01T07:30:00Z'),
      '2026-03-07T00:00:00Z',
      ['SHIFTED 2026-03-08T02:30:00 x1'],
    ],
    ['a day apart in elapsed time', every('PT24H', '2026-03-01T07:30:00Z'), '2026-03-07T00:00:00Z', []],
    ['a time that no change touches', cron('30 12 * * *', 'America/New_York'), '2026-03-07T00:00:00Z', []],
  ])('say what a change of the clock does: %s', (_, spec, after, expected) => {
    const { clockChanges } = preview(spec, unbounded, Date.parse(after), 8)
    expect(clockChanges.map(({ effect, local, count }) => `${effect} ${local} x${count}`)).toEqual(expected)
  })

  it('end where the bounds say', () => {
    const bounds = { startAt: Date.parse('2027-01-02T00:00:00Z'), endAt: Date.parse('2027-01-03T00:00:00Z') }
    const { fires } = preview(cron('0 0 * * *', 'UTC'), bounds, 0, 10)
    expect(fires.map(({ local }) => local)).toEqual(['2027-01-02T00:00:00+00:00', '2027-01-03T00:00:00+00:00'])
  })
})
