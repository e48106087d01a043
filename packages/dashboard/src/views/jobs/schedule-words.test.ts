import { expect, it } from 'vitest'
import { cronInWords, timingInWords } from './schedule-words.ts'

it.each([
  ['* * * * * *', 'Every second'],
  ['*/5 * * * * *', 'Every 5 seconds'],
  ['* * * * *', 'Every minute'],
  ['30 * * * * *', 'Every minute, at second 30'],
  ['*/15 * * * *', 'Every 15 minutes'],
  ['7 * * * *', 'Every hour, at minute 7'],
  ['@hourly', 'Every hour'],
  ['0 */6 * * *', 'Every 6 hours'],
  ['0 3 * * *', 'Every day at 03:00'],
  ['0 9,17 * * MON-FRI', 'Monday to Friday at 09:00 and 17:00'],
  ['30 2 * * 0,wed', 'Every Sunday and Wednesday at 02:30'],
  ['0 0 1 * ?', 'On the 1st of the month at 00:00'],
  ['0 0 L * *', 'On the last day of the month at 00:00'],
  ['0 12 25 12 *', 'On the 25th of December at 12:00'],
  ['* * * * 7', 'Every minute, every Sunday'],
  ['0 0 13 * FRI', null],
  ['0 9-17 * * *', null],
  ['0 0 15W * *', null],
  ['5 0 3 * * *', null],
  ['0 1,2,3,4,5 * * *', null],
  ['0 25 * * *', null],
  ['nonsense', null],
])('%s: %s', (schedule, words) => {
  expect(cronInWords(schedule)).toBe(words)
})

it.each([
  ['PT2S', 'Every 2 seconds'],
  ['PT1H', 'Every hour'],
  ['P1DT12H', 'Every 1 day 12 hours'],
  ['P1M', null],
])('%s: %s', (interval, words) => {
  const rest = {
    schedule: null,
    runAt: null,
    runAtLocal: null,
    delayMs: null,
    dayFields: 'EITHER' as const,
    after: null,
  }
  expect(timingInWords({ type: 'INTERVAL', interval, ...rest })).toBe(words)
})
