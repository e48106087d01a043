/**
 * One field of a cron expression: lists of values, ranges and steps, in numbers or names. Errors name the field and
 * give what it allows.
 */
import { CarillonError } from '@carillon/contract'

export interface FieldSpec {
  name: string
  min: number
  max: number
  names?: readonly string[]
  /** The number that the first name stands for. */
  firstName?: number
  examples: string
}

const weekdayNames = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']
const monthNames = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']

export const fieldSpecs = {
  second: { name: 'second', min: 0, max: 59, examples: '0, */10 or 0,30' },
  minute: { name: 'minute', min: 0, max: 59, examples: '0, */15 or 0,30' },
  hour: { name: 'hour', min: 0, max: 23, examples: '3, 9-17 or */2' },
  dayOfMonth: { name: 'day of month', min: 1, max: 31, examples: '1, 1-7, L, L-3, LW or 15W' },
  month: { name: 'month', min: 1, max: 12, names: monthNames, firstName: 1, examples: '1, JAN-MAR or */3' },
  dayOfWeek: {
    name: 'day of week',
    min: 0,
    max: 7,
    names: weekdayNames,
    firstName: 0,
    examples: '1, MON-FRI, 5L or 5#3',
  },
} satisfies Record<string, FieldSpec>

export interface ParsedField {
  values: Set<number>
  /** One element is `*` or `?`: the field restricts nothing. */
  wildcard: boolean
  /** Every element is a wildcard or a step without end (`*`, `*` + `/2`, `0/2`). */
  open: boolean
}

/** `special` takes the elements only this field has (`L`, `15W`, `5#3`) and says whether it did. */
export function parseField(spec: FieldSpec, text: string, special?: (element: string) => boolean): ParsedField {
  const parsed: ParsedField = { values: new Set(), wildcard: false, open: true }
  for (const element of text.split(',')) {
    if (element === '') throw invalidField(spec, text, 'has an empty place in its list')
    if (special?.(element)) {
      parsed.open = false
      continue
    }
    const range = parseRange(spec, element)
    for (let value = range.from; value <= range.to; value += range.step) parsed.values.add(value)
    if (range.wildcard && range.step === 1) parsed.wildcard = true
    if (!range.open) parsed.open = false
  }
  return parsed
}

function parseRange(spec: FieldSpec, element: string) {
  const [base = '', stepText, ...moreSteps] = element.split('/')
  if (moreSteps.length > 0) throw invalidField(spec, element, 'has more than one step')
  const step = stepText === undefined ? 1 : parseStep(spec, element, stepText)
  const last = spec === fieldSpecs.dayOfWeek ? 6 : spec.max
  if (base === '*' || base === '?') return { from: spec.min, to: last, step, wildcard: true, open: true }
  const [fromText = '', toText, ...moreEnds] = base.split('-')
  if (moreEnds.length > 0) throw invalidField(spec, element, 'is not a range')
  const from = parseValue(spec, element, fromText)
  if (toText === undefined) {
    const open = stepText !== undefined
    return { from, to: open ? Math.max(from, last) : from, step, wildcard: false, open }
  }
  let to = parseValue(spec, element, toText)
  if (spec === fieldSpecs.dayOfWeek && to === 0 && from > 0) to = 7
  if (to < from) {
    throw invalidField(
      spec,
      element,
      'is a range that runs backwards',
      `Write it as ${fromText}-${last},${spec.min}-${toText}`,
    )
  }
  const whole = spec === fieldSpecs.hour && from === spec.min && to === spec.max
  return { from, to, step, wildcard: false, open: whole }
}

function parseStep(spec: FieldSpec, element: string, text: string): number {
  const step = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN
  const most = spec.max - spec.min + (spec === fieldSpecs.dayOfWeek ? 0 : 1)
  if (!(step >= 1 && step <= most)) {
    throw invalidField(spec, element, `has the step "${text}"`, `A step of this field is a number from 1 to ${most}`)
  }
  return step
}

export function parseValue(spec: FieldSpec, element: string, text: string): number {
  const named = spec.names?.indexOf(text) ?? -1
  if (named >= 0) return named + spec.firstName!
  const value = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN
  if (value >= spec.min && value <= spec.max) return value
  throw invalidField(spec, element, Number.isNaN(value) ? 'is not understood' : 'is out of range')
}

export function invalidField(spec: FieldSpec, element: string, trouble: string, hint?: string): CarillonError {
  const names = spec.names ? ` or ${spec.names[0]} to ${spec.names.at(-1)}` : ''
  const range = `The ${spec.name} is ${spec.min} to ${spec.max}${names}, such as ${spec.examples}`
  return invalidCron(`${spec.name}: "${element}" ${trouble}`, hint ?? range)
}

export function invalidCron(message: string, hint: string): CarillonError {
  return new CarillonError('SCHEDULE_INVALID', { pointer: '/schedule', message, hint })
}
