import { describe, expect, it } from 'vitest'
import { cron, dates, fires, instant } from './schedule.test-support.ts'

describe('dates', () => {
  it('29 February waits for the leap year, and for eight years around 2100', () => {
    expect(dates(cron('0 0 29 2 *'), '2023-01-01T00:00Z', 3)).toEqual(['2024-02-29', '2028-02-29', '2032-02-29'])
    expect(dates(cron('0 0 29 2 *'), '2096-01-01T00:00Z', 2)).toEqual(['2096-02-29', '2104-02-29'])
  })

  it('L is the last day of the month, L-2 two days before', () => {
    expect(dates(cron('0 0 L * *'), '2024-01-01T00:00Z', 4)).toEqual([
      '2024-01-31',
      '2024-02-29',
      '2024-03-31',
      '2024-04-30',
    ])
    expect(dates(cron('0 0 L-2 2 *'), '2024-01-01T00:00Z', 2)).toEqual(['2024-02-27', '2025-02-26'])
  })

  it('LW is the last Monday to Friday', () => {
    expect(dates(cron('0 0 LW * *'), '2025-04-01T00:00Z', 4)).toEqual([
      '2025-04-30',
      '2025-05-30',
      '2025-06-30',
      '2025-07-31',
    ])
  })

  it('nW is the nearest weekday, never in another month', () => {
    // 15 Feb 2025 is a Saturday, 15 June a Sunday; 1 March 2025 a Saturday; 31 August 2025 a Sunday.
    expect(dates(cron('0 0 15W 2,6,7 *'), '2025-01-01T00:00Z', 3)).toEqual(['2025-02-14', '2025-06-16', '2025-07-15'])
    expect(dates(cron('0 0 1W 3 *'), '2025-01-01T00:00Z', 1)).toEqual(['2025-03-03'])
    expect(dates(cron('0 0 31W 8 *'), '2025-01-01T00:00Z', 1)).toEqual(['2025-08-29'])
    expect(dates(cron('0 0 31W * *'), '2025-01-01T00:00Z', 3)).toEqual(['2025-01-31', '2025-03-31', '2025-05-30'])
  })

  it('5L is the last Friday, 5#3 the third, MON#5 only where there is one', () => {
    expect(dates(cron('0 0 * * 5L'), '2025-01-01T00:00Z', 3)).toEqual(['2025-01-31', '2025-02-28', '2025-03-28'])
    expect(dates(cron('0 0 * * 5#3'), '2025-01-01T00:00Z', 3)).toEqual(['2025-01-17', '2025-02-21', '2025-03-21'])
    expect(dates(cron('0 0 * * MON#5'), '2025-01-01T00:00Z', 2)).toEqual(['2025-03-31', '2025-06-30'])
    expect(dates(cron('0 0 * * 1#1,1#3'), '2025-01-01T00:00Z', 3)).toEqual(['2025-01-06', '2025-01-20', '2025-02-03'])
  })

  it('a fifth Friday in February comes once in 28 years, 40 around 2100', () => {
    expect(dates(cron('0 0 * 2 5#5'), '2025-01-01T00:00Z', 2)).toEqual(['2036-02-29', '2064-02-29'])
    expect(dates(cron('0 0 * 2 1#5'), '2069-01-01T00:00Z', 2)).toEqual(['2072-02-29', '2112-02-29'])
  })

  it('with both day fields restricted either matches', () => {
    expect(dates(cron('0 0 13 * 5'), '2025-06-01T00:00Z', 6)).toEqual([
      '2025-06-06',
      '2025-06-13',
      '2025-06-20',
      '2025-06-27',
      '2025-07-04',
      '2025-07-11',
    ])
    expect(dates(cron('0 0 13 8 5'), '2025-08-07T00:00Z', 3)).toEqual(['2025-08-08', '2025-08-13', '2025-08-15'])
  })

  it('steps through seconds', () => {
    const schedule = cron('58/1 59 23 31 12 *')
    expect(schedule.next(instant('2025-01-01T00:00Z'))).toBe(instant('2025-12-31T23:59:58Z'))
    expect(schedule.next(instant('2025-12-31T23:59:58Z'))).toBe(instant('2025-12-31T23:59:59Z'))
    expect(schedule.next(instant('2025-12-31T23:59:59Z'))).toBe(instant('2026-12-31T23:59:58Z'))
  })

  it('counts a sub-second start to the next second', () => {
    expect(cron('* * * * * *').next(instant('2025-01-01T00:00:00.001Z'))).toBe(instant('2025-01-01T00:00:01Z'))
  })

  it.each(['0 0 31 2 *', '0 0 30 2 *', '0 0 31 4,6,9,11 *', '0 0 L-29 2 *', '0 0 30W 2 *'])(
    '%s never fires',
    (text) => {
      expect(() => cron(text)).toThrowError(expect.objectContaining({ code: 'SCHEDULE_NEVER_FIRES' }))
    },
  )

  it('stays within 1970 to 9999', () => {
    expect(cron('0 0 1 1 *').next(-1e15)).toBe(0)
    expect(cron('0 0 1 1 *').next(instant('9999-01-01T00:00Z'))).toBeNull()
    expect(cron('0 0 29 2 *', 'Europe/Berlin').next(instant('9996-03-01T00:00Z'))).toBeNull()
    expect(cron('59 59 23 31 12 *').next(instant('9999-06-01T00:00Z'))).toBe(instant('9999-12-31T23:59:59Z'))
  })

  it('gives up on a schedule whose every occurrence falls into a gap that is skipped', () => {
    const schedule = cron('30 2 * 3 0L', 'Europe/Berlin', { gap: 'SKIP', overlap: 'FIRST' })
    expect(schedule.next(instant('2025-01-01T00:00Z'))).toBeNull()
  })
})

describe('New York, 9 March 2025: 02:00 to 03:00 does not exist', () => {
  const zone = 'America/New_York'
  const after = '2025-03-08T12:00-05:00'

  it('SHIFT runs 02:30 at the same distance after the jump', () => {
    const schedule = cron('30 2 * * *', zone)
    expect(fires(schedule, after, 2, zone)).toEqual(['2025-03-09T03:30-04:00', '2025-03-10T02:30-04:00'])
  })

  it('SKIP leaves it out', () => {
    const schedule = cron('30 2 * * *', zone, { gap: 'SKIP', overlap: 'FIRST' })
    expect(fires(schedule, after, 2, zone)).toEqual(['2025-03-10T02:30-04:00', '2025-03-11T02:30-04:00'])
  })

  it('SHIFT makes no second fire where the hour after the jump matches too', () => {
    expect(fires(cron('0,30 2,3 * * *', zone), after, 4, zone)).toEqual([
      '2025-03-09T03:00-04:00',
      '2025-03-09T03:30-04:00',
      '2025-03-10T02:00-04:00',
      '2025-03-10T02:30-04:00',
    ])
  })

  it('SHIFT moves each missing minute, in order with those that exist', () => {
    expect(fires(cron('*/20 2 * * *', zone), after, 4, zone)).toEqual([
      '2025-03-09T03:00-04:00',
      '2025-03-09T03:20-04:00',
      '2025-03-09T03:40-04:00',
      '2025-03-10T02:00-04:00',
    ])
    expect(fires(cron('5,45 2-3 * * *', zone), after, 3, zone)).toEqual([
      '2025-03-09T03:05-04:00',
      '2025-03-09T03:45-04:00',
      '2025-03-10T02:05-04:00',
    ])
  })

  it('*/15 goes on every 15 minutes', () => {
    expect(fires(cron('*/15 * * * *', zone), '2025-03-09T01:31-05:00', 3, zone)).toEqual([
      '2025-03-09T01:45-05:00',
      '2025-03-09T03:00-04:00',
      '2025-03-09T03:15-04:00',
    ])
  })

  it('every second hour is a list of hours: 02:00 is moved, or skipped', () => {
    expect(fires(cron('0 */2 * * *', zone), '2025-03-08T23:00-05:00', 3, zone)).toEqual([
      '2025-03-09T00:00-05:00',
      '2025-03-09T03:00-04:00',
      '2025-03-09T04:00-04:00',
    ])
    const skipping = cron('0 */2 * * *', zone, { gap: 'SKIP', overlap: 'FIRST' })
    expect(fires(skipping, '2025-03-08T23:00-05:00', 2, zone)).toEqual([
      '2025-03-09T00:00-05:00',
      '2025-03-09T04:00-04:00',
    ])
  })
})

describe('New York, 2 November 2025: 01:00 to 02:00 comes twice', () => {
  const zone = 'America/New_York'
  const after = '2025-11-01T12:00-04:00'

  it.each([
    ['FIRST', ['2025-11-02T01:30-04:00', '2025-11-03T01:30-05:00']],
    ['SECOND', ['2025-11-02T01:30-05:00', '2025-11-03T01:30-05:00']],
    ['BOTH', ['2025-11-02T01:30-04:00', '2025-11-02T01:30-05:00']],
  ] as const)('%s', (overlap, expected) => {
    expect(fires(cron('30 1 * * *', zone, { gap: 'SHIFT', overlap }), after, 2, zone)).toEqual(expected)
  })

  it('*/15 fires in both passes, every 15 minutes, whatever the policy', () => {
    for (const overlap of ['FIRST', 'SECOND', 'BOTH'] as const) {
      const schedule = cron('*/15 * * * *', zone, { gap: 'SKIP', overlap })
      const texts = fires(schedule, '2025-11-02T00:59-04:00', 9, zone)
      expect(texts[0]).toBe('2025-11-02T01:00-04:00')
      expect(texts[4]).toBe('2025-11-02T01:00-05:00')
      expect(texts[8]).toBe('2025-11-02T02:00-05:00')
    }
  })

  it('a range of hours is fixed: the second pass is left out under FIRST', () => {
    expect(fires(cron('0,30 1-2 * * *', zone), after, 4, zone)).toEqual([
      '2025-11-02T01:00-04:00',
      '2025-11-02T01:30-04:00',
      '2025-11-02T02:00-05:00',
      '2025-11-02T02:30-05:00',
    ])
  })
})

describe('other zones', () => {
  it('Berlin, both changes of 2025', () => {
    const zone = 'Europe/Berlin'
    expect(fires(cron('30 2 * * *', zone), '2025-03-29T12:00Z', 2, zone)).toEqual([
      '2025-03-30T03:30+02:00',
      '2025-03-31T02:30+02:00',
    ])
    expect(fires(cron('30 2 * * *', zone, { gap: 'SHIFT', overlap: 'BOTH' }), '2025-10-25T12:00Z', 3, zone)).toEqual([
      '2025-10-26T02:30+02:00',
      '2025-10-26T02:30+01:00',
      '2025-10-27T02:30+01:00',
    ])
  })

  it('Lord Howe moves by half an hour', () => {
    const zone = 'Australia/Lord_Howe'
    // 5 October 2025: 02:00 becomes 02:30. 6 April 2025: 02:00 becomes 01:30.
    expect(fires(cron('15 2 * * *', zone), '2025-10-04T00:00Z', 2, zone)).toEqual([
      '2025-10-05T02:45+11:00',
      '2025-10-06T02:15+11:00',
    ])
    expect(fires(cron('45 1 * * *', zone, { gap: 'SHIFT', overlap: 'BOTH' }), '2025-04-05T00:00Z', 3, zone)).toEqual([
      '2025-04-06T01:45+11:00',
      '2025-04-06T01:45+10:30',
      '2025-04-07T01:45+10:30',
    ])
    expect(fires(cron('15 1 * * *', zone, { gap: 'SHIFT', overlap: 'BOTH' }), '2025-04-05T00:00Z', 2, zone)).toEqual([
      '2025-04-06T01:15+11:00',
      '2025-04-07T01:15+10:30',
    ])
  })

  it('Casablanca turns its clock back for Ramadan and forward after it', () => {
    const zone = 'Africa/Casablanca'
    expect(fires(cron('30 2 * * *', zone, { gap: 'SHIFT', overlap: 'BOTH' }), '2025-02-22T12:00Z', 2, zone)).toEqual([
      '2025-02-23T02:30+01:00',
      '2025-02-23T02:30+00:00',
    ])
    expect(fires(cron('30 2 * * *', zone), '2025-04-05T12:00Z', 2, zone)).toEqual([
      '2025-04-06T03:30+01:00',
      '2025-04-07T02:30+01:00',
    ])
  })

  it('Dublin, whose winter time is the exception', () => {
    const zone = 'Europe/Dublin'
    expect(fires(cron('30 1 * * *', zone), '2025-03-29T12:00Z', 1, zone)).toEqual(['2025-03-30T02:30+01:00'])
    expect(fires(cron('30 1 * * *', zone, { gap: 'SHIFT', overlap: 'SECOND' }), '2025-10-25T12:00Z', 1, zone)).toEqual([
      '2025-10-26T01:30+00:00',
    ])
  })

  it('Apia had no 30 December 2011', () => {
    const zone = 'Pacific/Apia'
    const after = '2011-12-29T00:00-10:00'
    expect(fires(cron('0 8 * * *', zone), after, 3, zone)).toEqual([
      '2011-12-29T08:00-10:00',
      '2011-12-31T08:00+14:00',
      '2012-01-01T08:00+14:00',
    ])
    expect(fires(cron('0 8 30 12 *', zone), after, 1, zone)).toEqual(['2011-12-31T08:00+14:00'])
    expect(fires(cron('0 8 30 12 *', zone, { gap: 'SKIP', overlap: 'FIRST' }), after, 1, zone)).toEqual([
      '2012-12-30T08:00+14:00',
    ])
    expect(fires(cron('0 */6 30,31 12 *', zone), after, 1, zone)).toEqual(['2011-12-31T00:00+14:00'])
  })

  it('midnight that does not exist: Beirut, and Sao Paulo in 2018', () => {
    expect(fires(cron('0 0 * * *', 'Asia/Beirut'), '2025-03-29T12:00Z', 2, 'Asia/Beirut')).toEqual([
      '2025-03-30T01:00+03:00',
      '2025-03-31T00:00+03:00',
    ])
    expect(fires(cron('0 0 * * *', 'America/Sao_Paulo'), '2018-11-03T12:00Z', 2, 'America/Sao_Paulo')).toEqual([
      '2018-11-04T01:00-02:00',
      '2018-11-05T00:00-02:00',
    ])
  })

  it('the last hour of a day that comes twice: Sao Paulo, 17 February 2018', () => {
    const zone = 'America/Sao_Paulo'
    expect(fires(cron('30 23 17 2 *', zone, { gap: 'SHIFT', overlap: 'BOTH' }), '2018-02-17T00:00Z', 2, zone)).toEqual([
      '2018-02-17T23:30-02:00',
      '2018-02-17T23:30-03:00',
    ])
  })

  it('an offset with seconds: Monrovia until 7 January 1972', () => {
    const schedule = cron('0 12 * * *', 'Africa/Monrovia')
    expect(schedule.next(instant('1971-06-01T00:00Z'))).toBe(instant('1971-06-01T12:44:30Z'))
    // The clock jumped from 00:00:00 to 00:44:30.
    expect(cron('30 0 * * *', 'Africa/Monrovia').next(instant('1972-01-06T12:00Z'))).toBe(
      instant('1972-01-07T01:14:30Z'),
    )
  })
})
