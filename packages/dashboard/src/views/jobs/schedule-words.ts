/** When a job fires, in words where there are short ones; else as it was written. */
import type { Job } from '@carillon/contract'
import { duration } from '../../lib/time.ts'

type Timing = Pick<Job, 'type' | 'schedule' | 'interval' | 'runAt' | 'runAtLocal' | 'delayMs' | 'dayFields' | 'after'>

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const months = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July'],
  ...['August', 'September', 'October', 'November', 'December'],
]
const afterWords = { SUCCEEDED: 'After the success of', FAILED: 'After the failure of', ENDED: 'After each end of' }
const named: Record<string, string> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
}

/** Null: it has no short words, or is not a schedule. */
export function timingInWords(job: Timing): string | null {
  switch (job.type) {
    case 'CRON':
      return cronInWords(job.schedule ?? '')
    case 'INTERVAL':
      return intervalInWords(job.interval ?? '')
    case 'DELAYED':
      return job.delayMs === null ? null : `Once, ${duration(job.delayMs)} after its creation`
    case 'AFTER':
      return job.after === null ? null : afterWords[job.after.on]
    case 'ONE_SHOT':
      return job.runAtLocal !== null || job.runAt !== null ? 'Once' : 'Once, at once'
  }
}

/** As it was written. */
export function timingText(job: Timing): string {
  if (job.type === 'CRON') return job.schedule ?? ''
  if (job.type === 'INTERVAL') return job.interval ?? ''
  if (job.type === 'DELAYED') return duration(job.delayMs)
  if (job.type === 'AFTER') return job.after?.job ?? ''
  return (job.runAtLocal ?? job.runAt ?? '').replace('T', ' ').replace(/\.000Z$/, ' UTC')
}

export function cronInWords(text: string): string | null {
  const fields = (named[text.trim().toLowerCase()] ?? text).trim().split(/\s+/)
  if (fields.length === 5) fields.unshift('0')
  if (fields.length !== 6) return null
  const [second, minute, hour, day, month, weekday] = fields.map((field) => (field === '?' ? '*' : field)) as [
    ...[string, string, string],
    ...[string, string, string],
  ]
  const on = daysInWords(day, month, weekday)
  if (on === null) return null
  const within = on === 'every day' ? '' : `, ${on}`
  if (hour === '*' && minute === '*') return sentence(steps(second, 'second', 'minute'), within)
  if (second !== '0') return null
  if (hour === '*') return sentence(steps(minute, 'minute', 'hour'), within)
  const hourStep = /^\*\/(\d+)$/.exec(hour)
  if (hourStep && minute === '0') return sentence(`every ${hourStep[1]} hours`, within)
  const times = numbers(hour, 23)?.flatMap((h) => (numbers(minute, 59) ?? []).map((m) => `${two(h)}:${two(m)}`))
  if (times === undefined || times.length === 0 || times.length > 4) return null
  return sentence(`${on} at ${listed(times)}`, '')
}

/** `*` each, `*\/5` every five, `30` at that one of each larger unit. */
function steps(field: string, unit: string, larger: string): string | null {
  if (field === '*') return `every ${unit}`
  const step = /^\*\/(\d+)$/.exec(field)
  if (step) return step[1] === '1' ? `every ${unit}` : `every ${step[1]} ${unit}s`
  const [value, ...more] = numbers(field, 59) ?? []
  if (value === undefined || more.length > 0) return null
  return value === 0 ? `every ${larger}` : `every ${larger}, at ${unit} ${value}`
}

function daysInWords(day: string, month: string, weekday: string): string | null {
  const inMonths = month === '*' ? [] : numbers(month, 12)
  if (inMonths === null || inMonths.length > 2) return null
  const year = inMonths.length === 0 ? '' : ` of ${listed(inMonths.map((each) => months[each - 1] ?? '?'))}`
  if (day === '*' && weekday === '*') return year === '' ? 'every day' : `every day${year}`
  if (day !== '*' && weekday !== '*') return null
  if (day === '*') {
    if (year !== '') return null
    if (/^(1-5|mon-fri)$/i.test(weekday)) return 'Monday to Friday'
    const on = weekday.split(',').map(dayName)
    return on.includes(null) ? null : `every ${listed(on as string[])}`
  }
  const of = year === '' ? ' of the month' : year
  if (/^L$/i.test(day)) return `on the last day${of}`
  const on = numbers(day, 31)
  return on === null || on.length > 3 ? null : `on the ${listed(on.map(ordinal))}${of}`
}

function dayName(text: string): string | null {
  if (/^[0-7]$/.test(text)) return days[Number(text) % 7]!
  return days.find((day) => text.length >= 3 && day.toLowerCase().startsWith(text.toLowerCase())) ?? null
}

function numbers(field: string, most: number): number[] | null {
  const values = field.split(',').map((part) => (/^\d{1,2}$/.test(part) ? Number(part) : -1))
  return values.every((value) => value >= 0 && value <= most) ? values : null
}

function intervalInWords(text: string): string | null {
  const match = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/.exec(text)
  if (!match) return null
  const parts = ['week', 'day', 'hour', 'minute', 'second']
    .map((unit, i) => [Number(match[i + 1] ?? 0), unit] as const)
    .filter(([value]) => value > 0)
  if (parts.length === 0) return null
  const [[value, unit]] = parts as [readonly [number, string]]
  if (parts.length === 1) return value === 1 ? `Every ${unit}` : `Every ${value} ${unit}s`
  return `Every ${parts.map(([many, of]) => `${many} ${of}${many === 1 ? '' : 's'}`).join(' ')}`
}

function sentence(text: string | null, more: string): string | null {
  return text === null ? null : text.charAt(0).toUpperCase() + text.slice(1) + more
}

function listed(texts: readonly string[]): string {
  return texts.length < 2 ? texts.join() : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`
}

function ordinal(value: number): string {
  const ending = value >= 11 && value <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][value % 10] ?? 'th')
  return `${value}${ending}`
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}
