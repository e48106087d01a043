/**
 * One field of a cron expression: lists of values, ranges and steps, in numbers or names. A range may wrap around the end
 * of its field (`FRI-MON`, `22-4/2`); its step is counted from its start through the wrap. Errors name the field and
 * say what to write instead.
 */
import { CarillonError } from '@carillon/contract'

export interface FieldSpec {
  name: string
  min: number
  max: number
  /** How many different values there are: after the last one a range goes on with the first. */
  cycle: number
  names?: readonly string[]
  /** The number that the first name stands for. */
  firstName?: number
  examples: string
}

const weekdayNames = ['SUNDAY', 'MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY']
const monthNames = [
  ...['JANUARY', 'FEBRUARY', 'MARCH', 'APRIL', 'MAY', 'JUNE'],
  ...['JULY', 'AUGUST', 'SEPTEMBER', 'OCTOBER', 'NOVEMBER', 'DECEMBER'],
]

export const fieldSpecs = {
  second: { name: 'second', min: 0, max: 59, cycle: 60, examples: '0, */10 or 0,30' },
  minute: { name: 'minute', min: 0, max: 59, cycle: 60, examples: '0, */15 or 0,30' },
  hour: { name: 'hour', min: 0, max: 23, cycle: 24, examples: '3, 9-17, 22-4 or */2' },
  dayOfMonth: { name: 'day of month', min: 1, max: 31, cycle: 31, examples: '1, 1-7, L, L-3, LW or 15W' },
  month: { name: 'month', min: 1, max: 12, cycle: 12, names: monthNames, firstName: 1, examples: '1, NOV-FEB or */3' },
  dayOfWeek: {
    name: 'day of week',
    min: 0,
    max: 7,
    cycle: 7,
    names: weekdayNames,
    firstName: 0,
    examples: '1, MON-FRI, 5L or 5#3',
  },
} satisfies Record<string, FieldSpec>

export interface ParsedField {
  values: Set<number>
  /** One element is `*` or `?`: the field restricts nothing. */
  wildcard: boolean
}

/** `special` takes the elements only this field has (`L`, `15W`, `5#3`) and says whether it did. */
export function parseField(spec: FieldSpec, text: string, special?: (element: string) => boolean): ParsedField {
  const parsed: ParsedField = { values: new Set(), wildcard: false }
  for (const element of text.split(',')) {
    if (element === '') throw invalidField(spec, text, 'has an empty place in its list')
    if (special?.(element)) continue
    const { from, length, step, wildcard } = parseRange(spec, element)
    for (let offset = 0; offset <= length; offset += step) {
      parsed.values.add(spec.min + ((from - spec.min + offset) % spec.cycle))
    }
    if (wildcard && step === 1) parsed.wildcard = true
  }
  return parsed
}

/** From its first value, `length` further ones; a step without an end goes up to the last value of the field. */
function parseRange(spec: FieldSpec, element: string) {
  const [base = '', stepText, ...moreSteps] = element.split('/')
  if (moreSteps.length > 0) throw invalidField(spec, element, 'has more than one step')
  const step = stepText === undefined ? 1 : parseStep(spec, element, stepText)
  const last = spec.min + spec.cycle - 1
  if (base === '*' || base === '?') return { from: spec.min, length: last - spec.min, step, wildcard: true }
  const [fromText = '', toText, ...moreEnds] = base.split('-')
  if (moreEnds.length > 0) throw invalidField(spec, element, 'is not a range')
  const from = parseValue(spec, element, fromText)
  if (toText === undefined) {
    return { from, length: stepText === undefined ? 0 : Math.max(0, last - from), step, wildcard: false }
  }
  const to = parseValue(spec, element, toText)
  return { from, length: to >= from ? to - from : to - from + spec.cycle, step, wildcard: false }
}

function parseStep(spec: FieldSpec, element: string, text: string): number {
  const step = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN
  if (!(step >= 1 && step <= spec.cycle)) {
    const hint = `A step of this field is a number from 1 to ${spec.cycle}`
    throw invalidField(spec, element, `has the step "${text}"`, hint)
  }
  return step
}

export function parseValue(spec: FieldSpec, element: string, text: string): number {
  const named = spec.names?.findIndex((name) => text === name || text === name.slice(0, 3)) ?? -1
  if (named >= 0) return named + spec.firstName!
  const value = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN
  if (value >= spec.min && value <= spec.max) return value
  if (Number.isNaN(value)) throw invalidField(spec, element, 'is not understood', hintForText(spec, text))
  throw invalidField(spec, element, 'is out of range', hintForNumber(spec, value))
}

/** What a number one past the end was meant to be. */
function hintForNumber(spec: FieldSpec, value: number): string | undefined {
  if (value !== spec.max + 1) return undefined
  if (spec === fieldSpecs.hour) return 'Midnight is hour 0: write 0 for 24, and 0-23 for 0-24'
  if (spec.cycle === 60) return `After ${spec.name} ${spec.max} comes ${spec.name} 0: write 0`
  return undefined
}

/** What a word of another dialect is called here. */
function hintForText(spec: FieldSpec, text: string): string | undefined {
  const near = text.length > 3 ? spec.names?.find((name) => name.startsWith(text.slice(0, 3))) : undefined
  if (near) return `Write ${near.slice(0, 3)} or ${near}`
  if (/^H(\(.*\))?$/.test(text)) return 'A time that differs from job to job: choose one and set jitterSec'
  if (text.includes('~')) return 'A random time is not taken: choose one and set jitterSec'
  return undefined
}

export function invalidField(spec: FieldSpec, element: string, trouble: string, hint?: string): CarillonError {
  const names = spec.names ? ` or ${spec.names[0]!.slice(0, 3)} to ${spec.names.at(-1)!.slice(0, 3)}` : ''
  const range = `The ${spec.name} is ${spec.min} to ${spec.max}${names}, such as ${spec.examples}`
  return invalidCron(`${spec.name}: "${element}" ${trouble}`, hint ?? range)
}

export function invalidCron(message: string, hint: string): CarillonError {
  return new CarillonError('SCHEDULE_INVALID', { pointer: '/schedule', message, hint })
}
