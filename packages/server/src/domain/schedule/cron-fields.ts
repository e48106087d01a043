/**
 * From the text of a cron expression to sets of numbers. Everything that can be wrong with an expression is found
 * here, with the field named and its range given: what passes this file fires (see `cron-days.ts` for dates that no
 * month has). Names and letters are read in any case.
 */
import { limits } from '@carillon/contract'
import { fieldSpecs, invalidCron, invalidField, parseField, parseValue } from './cron-field.ts'

export interface CronFields {
  seconds: Set<number>
  minutes: Set<number>
  hours: Set<number>
  months: Set<number>
  daysOfMonth: DaysOfMonth
  daysOfWeek: DaysOfWeek
  /**
   * The hour field names every hour (`*`, `*` + `/1`, `0-23`): the schedule follows elapsed time through changes of the
   * clock. Otherwise it names fixed hours, also as a step of two hours or more, and the DST policy applies.
   */
  followsElapsedTime: boolean
}

export interface DaysOfMonth {
  restricted: boolean
  days: Set<number>
  /** Days before the last one: 0 is `L`, 3 is `L-3`. */
  beforeLast: Set<number>
  /** `15W`: the weekday (Monday to Friday) nearest to the 15th, in the same month. */
  nearestWeekday: Set<number>
  /** `LW`, `L-2W`: the weekday nearest to that many days before the last one, in the same month. */
  nearestBeforeLast: Set<number>
}

export interface DaysOfWeek {
  restricted: boolean
  /** 0 (Sunday) to 6. */
  weekdays: Set<number>
  /** `5L`: the last Friday of the month. */
  last: Set<number>
  /** `5#3`: the third Friday of the month. */
  nth: { weekday: number; nth: number }[]
}

const nicknames: Record<string, string> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
}

export function parseCron(expression: string): CronFields {
  const fields = splitFields(expression)
  const [second, minute, hour, dayOfMonth, month, dayOfWeek] = fields
  const hours = parseField(fieldSpecs.hour, hour).values
  return {
    seconds: parseField(fieldSpecs.second, second).values,
    minutes: parseField(fieldSpecs.minute, minute).values,
    hours,
    months: parseField(fieldSpecs.month, month).values,
    daysOfMonth: parseDaysOfMonth(dayOfMonth),
    daysOfWeek: parseDaysOfWeek(dayOfWeek),
    followsElapsedTime: hours.size === 24,
  }
}

type SixFields = [string, string, string, string, string, string]

function splitFields(expression: string): SixFields {
  if (expression.length > limits.scheduleLength) {
    throw invalidCron(
      `the expression has more than ${limits.scheduleLength} characters`,
      'Shorten its lists with ranges and steps',
    )
  }
  let text = expression.trim().toUpperCase()
  if (text.startsWith('@')) {
    const known = nicknames[text.toLowerCase()]
    if (known === undefined) throw invalidCron(`${text.toLowerCase()} is not a known form`, hintForNickname(text))
    text = known
  }
  const fields = text.split(/\s+/)
  if (fields.length === 5) return ['0', ...fields] as SixFields
  if (fields.length === 6) return fields as SixFields
  const count = text === '' ? 0 : fields.length
  const year = count === 7 ? 'There is no year field: use startAt and endAt. ' : ''
  throw invalidCron(
    `the expression has ${count} field${count === 1 ? '' : 's'}`,
    `${year}Write 5 fields (minute hour day-of-month month day-of-week) or 6 with the second first, such as 0 3 * * *`,
  )
}

function hintForNickname(text: string): string {
  const every = /^@EVERY\s+(?:(\d+)D)?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?$/.exec(text)
  if (every) {
    const [, days, hours, minutes, seconds] = every
    const time = [hours && `${hours}H`, minutes && `${minutes}M`, seconds && `${seconds}S`].filter(Boolean).join('')
    const interval = `P${days ? `${days}D` : ''}${time && `T${time}`}`
    if (interval !== 'P')
      return `Use type INTERVAL with the interval ${interval} (in library calls: every: '${interval}')`
  }
  if (text.startsWith('@EVERY')) return 'Use type INTERVAL with an ISO 8601 duration such as PT1H'
  if (text === '@REBOOT') return 'Nothing is started with a machine here: submit the work when your program starts'
  return `Use one of ${Object.keys(nicknames).join(', ')}`
}

function parseDaysOfMonth(text: string): DaysOfMonth {
  const spec = fieldSpecs.dayOfMonth
  const beforeLast = new Set<number>()
  const nearestWeekday = new Set<number>()
  const nearestBeforeLast = new Set<number>()
  const field = parseField(spec, text, (element) => {
    const fromEnd = /^(?:L(?:-(\d{1,2}))?(W?)|WL)$/.exec(element)
    const nearest = /^(\d{1,2})W$/.exec(element)
    if (fromEnd) {
      const days = Number(fromEnd[1] ?? 0)
      if (days > 30) throw invalidField(spec, element, 'is out of range', 'L-n takes n from 0 to 30')
      if (element.endsWith('W') || element === 'WL') nearestBeforeLast.add(days)
      else beforeLast.add(days)
    } else if (nearest) {
      nearestWeekday.add(parseValue(spec, element, nearest[1]!))
    } else {
      return false
    }
    return true
  })
  return { restricted: !field.wildcard, days: field.values, beforeLast, nearestWeekday, nearestBeforeLast }
}

function parseDaysOfWeek(text: string): DaysOfWeek {
  const spec = fieldSpecs.dayOfWeek
  const last = new Set<number>()
  const nth: DaysOfWeek['nth'] = []
  const field = parseField(spec, text, (element) => {
    const hash = element.split('#')
    if (hash.length > 1) {
      const which = hash.length === 2 && /^[1-5]$/.test(hash[1]!) ? Number(hash[1]) : Number.NaN
      if (Number.isNaN(which))
        throw invalidField(spec, element, 'is not understood', 'The third Friday is 5#3; the number after # is 1 to 5')
      nth.push({ weekday: parseValue(spec, element, hash[0]!) % 7, nth: which })
    } else if (element === 'L') {
      throw invalidField(spec, element, 'does not say which weekday', 'The last Friday is 5L')
    } else if (element.endsWith('L')) {
      last.add(parseValue(spec, element, element.slice(0, -1)) % 7)
    } else {
      return false
    }
    return true
  })
  return { restricted: !field.wildcard, weekdays: field.values, last, nth }
}
