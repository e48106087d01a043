import { CarillonError } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { parseCron } from './cron-fields.ts'

const numbers = (set: Set<number>) => [...set].sort((a, b) => a - b)

function errorOf(expression: string): CarillonError {
  try {
    parseCron(expression)
  } catch (error) {
    if (error instanceof CarillonError) return error
    throw error
  }
  throw new Error(`${expression} was accepted`)
}

describe('fields', () => {
  it('reads values, ranges, steps, lists and names', () => {
    const fields = parseCron('5-10/2,30 8,20-22 * jan-mar,DEC mon-fri')
    expect(numbers(fields.minutes)).toEqual([5, 7, 9, 30])
    expect(numbers(fields.hours)).toEqual([8, 20, 21, 22])
    expect(numbers(fields.months)).toEqual([1, 2, 3, 12])
    expect(numbers(fields.daysOfWeek.weekdays)).toEqual([1, 2, 3, 4, 5])
    expect(numbers(fields.seconds)).toEqual([0])
  })

  it('takes a sixth field as the second, first', () => {
    expect(numbers(parseCron('*/20 1 2 * * *').seconds)).toEqual([0, 20, 40])
  })

  it('reads a step from a value as running to the end of the field', () => {
    expect(numbers(parseCron('50/5 * * * *').minutes)).toEqual([50, 55])
    expect(numbers(parseCron('* * * * 3/2').daysOfWeek.weekdays)).toEqual([3, 5])
  })

  it('takes 7 and 0 for Sunday, also at the end of a range', () => {
    expect(numbers(parseCron('* * * * 7').daysOfWeek.weekdays)).toEqual([0])
    expect(numbers(parseCron('* * * * 5-7').daysOfWeek.weekdays)).toEqual([0, 5, 6])
    expect(numbers(parseCron('* * * * SAT-SUN').daysOfWeek.weekdays)).toEqual([0, 6])
  })

  it('takes ? for *', () => {
    expect(parseCron('0 0 ? * ?').daysOfMonth.restricted).toBe(false)
    expect(parseCron('0 0 ? * 1').daysOfWeek.restricted).toBe(true)
  })

  it.each([
    ['@hourly', '0 * * * *'],
    ['@daily', '0 0 * * *'],
    ['@midnight', '0 0 * * *'],
    ['@weekly', '0 0 * * 0'],
    ['@monthly', '0 0 1 * *'],
    ['@yearly', '0 0 1 1 *'],
    ['@ANNUALLY', '0 0 1 1 *'],
  ])('%s is %s', (nickname, expression) => {
    expect(parseCron(nickname)).toEqual(parseCron(expression))
  })

  it.each(['*', '?', '*/1', '0/1', '0-23', '0-23/1', '*,5', '12-11', '0-11,12-23', '*/2,1/2'])(
    'hour %s is every hour: it follows elapsed time',
    (hour) => {
      expect(parseCron(`0 ${hour} * * *`).followsElapsedTime).toBe(true)
    },
  )

  const fixed = [
    '2',
    '1-5',
    '0,12',
    '9-17/2',
    '*/2',
    '0/2',
    '8/3',
    '0-23/2',
    '1/1',
    '*/24',
    '*/2,5',
    '*/2,*/3',
    '22-4/2',
  ]
  it.each(fixed)('hour %s is a list of fixed hours', (hour) => {
    expect(parseCron(`0 ${hour} * * *`).followsElapsedTime).toBe(false)
  })
})

describe('errors name the field and say what is allowed', () => {
  it.each([
    ['60 * * * *', 'minute: "60" is out of range', 'write 0'],
    ['99 * * * *', 'minute: "99" is out of range', 'The minute is 0 to 59'],
    ['* 24 * * *', 'hour: "24" is out of range', 'Midnight is hour 0: write 0'],
    ['* 0-24 * * *', 'hour: "0-24" is out of range', '0-23'],
    ['* 25 * * *', 'hour: "25" is out of range', 'The hour is 0 to 23'],
    ['* * 0 * *', 'day of month: "0" is out of range', 'The day of month is 1 to 31'],
    ['* * * 13 *', 'month: "13" is out of range', 'The month is 1 to 12 or JAN to DEC'],
    ['* * * * 8', 'day of week: "8" is out of range', 'The day of week is 0 to 7 or SUN to SAT'],
    ['61 * * * * *', 'second: "61" is out of range', 'The second is 0 to 59'],
    ['* * * FOO *', 'month: "FOO" is not understood', 'JAN to DEC'],
    ['*/0 * * * *', 'minute: "*/0" has the step "0"', '1 to 60'],
    ['*/61 * * * *', 'minute: "*/61" has the step "61"', '1 to 60'],
    ['1/2/3 * * * *', 'minute: "1/2/3" has more than one step', '0 to 59'],
    ['1,,2 * * * *', 'minute: "1,,2" has an empty place', '0 to 59'],
    ['* * * * TUES', 'day of week: "TUES" is not understood', 'Write TUE or TUESDAY'],
    ['* * * SEPT *', 'month: "SEPT" is not understood', 'Write SEP or SEPTEMBER'],
    ['H * * * *', 'minute: "H" is not understood', 'jitterSec'],
    ['0~30 * * * *', 'minute: "0~30" is not understood', 'jitterSec'],
    ['1-2-3 * * * *', 'minute: "1-2-3" is not a range', '0 to 59'],
    ['-5 * * * *', 'minute: "-5" is not understood', '0 to 59'],
    ['1.5 * * * *', 'minute: "1.5" is not understood', '0 to 59'],
    ['0x1 * * * *', 'minute: "0X1" is not understood', '0 to 59'],
    ['* * * * L', 'day of week: "L" does not say which weekday', '5L'],
    ['* * * * 5#6', 'day of week: "5#6" is not understood', '1 to 5'],
    ['* * * * 1-5#2', 'day of week: "1-5#2" is not understood', '0 to 7'],
    ['* * 32W * *', 'day of month: "32W" is out of range', '1 to 31'],
    ['* * L-31 * *', 'day of month: "L-31" is out of range', '0 to 30'],
    ['L * * * *', 'minute: "L" is not understood', '0 to 59'],
    ['* * * *', 'the expression has 4 fields', '5 fields'],
    ['', 'the expression has 0 fields', '5 fields'],
    ['0 0 0 1 1 * 2027', 'the expression has 7 fields', 'no year field'],
    ['@fortnightly', '@fortnightly is not a known form', '@hourly'],
    ['@reboot', '@reboot is not a known form', 'when your program starts'],
    ['@every 1h', '@every 1h is not a known form', 'type INTERVAL with the interval PT1H '],
    ['@every 1h30m5s', '@every 1h30m5s is not a known form', 'PT1H30M5S'],
    ['@every fortnight', '@every fortnight is not a known form', 'ISO 8601 duration such as PT1H'],
    [`${'1,'.repeat(600)}1 * * * *`, 'more than 1000 characters', 'Shorten'],
  ])('%s', (expression, message, hint) => {
    const error = errorOf(expression)
    expect(error.code).toBe('SCHEDULE_INVALID')
    expect(error.errors[0]!.pointer).toBe('/schedule')
    expect(error.errors[0]!.message).toContain(message)
    expect(error.errors[0]!.hint).toContain(hint)
  })
})
