/**
 * What a line of a crontab means to cron, where that is not what the same five fields mean here. Vixie's cron, which Debian
 * ships, and cronie decide by the first letter of the two day fields: if one of them begins with `*`, both must match, even if
 * it is `*` + `/2`; otherwise either is enough. Here either is enough unless a job says BOTH. Pure.
 */
import type { DayFields } from '@carillon/contract'

export interface Meaning {
  schedule: string
  /** Left out: the default. */
  dayFields?: DayFields
  /** Warnings for the person who imports the line. */
  remarks: string[]
}

/** A field is `*`, or a list with a `*` in it: it restricts nothing. */
function isOpen(field: string): boolean {
  return field.split(',').some((element) => /^\*(\/1)?$/.test(element))
}

export function meaningOf(line: string): Meaning {
  const fields = line.split(' ')
  if (fields.length !== 5) return { schedule: line, remarks: [] }
  const remarks = fields.flatMap(remarksOn)
  const [minute, hour, dayOfMonth, month, dayOfWeek] = fields as [string, string, string, string, string]
  const days = [dayOfMonth, dayOfWeek]
  const starred = days.some((field) => field.startsWith('*'))
  if (starred && !days.some(isOpen)) {
    const which = days.find((field) => field.startsWith('*'))
    remarks.push(`cron wants both day fields to match, because ${which} begins with *: imported with dayFields BOTH`)
    return { schedule: line, dayFields: 'BOTH', remarks }
  }
  if (!starred && days.some(isOpen)) {
    remarks.push(
      'cron runs this on every day, because neither day field begins with * and one contains it: imported so',
    )
    return { schedule: [minute, hour, '*', month, '*'].join(' '), remarks }
  }
  return { schedule: line, remarks }
}

function remarksOn(field: string): string[] {
  return field.split(',').flatMap((element) => {
    const [base = '', step] = element.split('/')
    if (step !== undefined && /^\w+$/.test(base)) {
      return [
        `${element} is ${base} and every ${step} from there on; Debian’s cron reads ${base} alone, cronie refuses it`,
      ]
    }
    const [from, to] = base.split('-')
    if (/^\d+$/.test(from ?? '') && /^\d+$/.test(to ?? '') && Number(from) > Number(to)) {
      return [`${element} wraps around; cron refuses such a range`]
    }
    return /[?LW#]/i.test(base) && !/^[a-z]{3,}(-[a-z]{3,})?$/i.test(base) ? [`${element} is not known to cron`] : []
  })
}
