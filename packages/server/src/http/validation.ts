/** Requests against the schemas of the contract: all problems are reported at once, with a pointer and what to do. */
import { CarillonError, type ErrorDetail, fieldOf, unknownOption } from '@carillon/contract'
import { plainText } from '@carillon/contract/api'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import formats from 'ajv-formats'
import type { TSchema } from 'typebox'

const options = { strict: false, discriminator: true, verbose: true } as const
/** A body is JSON: a text is no number there. The first thing that is wrong ends it. */
const exact = new Ajv(options)
/** Finds everything that is wrong. */
const thorough = new Ajv({ ...options, allErrors: true })
/** A query is text: `limit=10` is meant as a number, one `label` as a list of one. Defaults are filled in. */
const coercing = new Ajv({ ...options, allErrors: true, coerceTypes: 'array', useDefaults: true })
/** As PostgreSQL reads it: without `urn:uuid:`. */
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
for (const ajv of [exact, thorough, coercing]) {
  ;(formats as unknown as (ajv: Ajv) => void)(ajv)
  ajv.addFormat('uuid', uuid)
  ajv.addFormat('event-id', /^[0-9]{1,15}$/)
  // Its pattern says it.
  ajv.addFormat('instant-or-local', true)
  ajv.addFormat('well-formed', (text) => text.isWellFormed())
}

export type Check = (value: unknown) => void

/** A function that throws VALIDATION unless its argument fits. */
export function checker(schema: TSchema, part: 'body' | 'query' | 'params' | 'headers'): Check {
  const validate: ValidateFunction = (part === 'body' ? exact : coercing).compile(schema)
  let all: ValidateFunction | undefined
  return (value) => {
    if (validate(value)) return
    let failed = validate
    if (part === 'body' && isSmall(value)) {
      all ??= thorough.compile(schema)
      all(value)
      failed = all
    }
    throw new CarillonError('VALIDATION', detailsOf(failed.errors ?? []))
  }
}

/** Values in it. */
const small = 2_000

/** A body of megabytes may be wrong a million times over: finding all of it would block the event loop for seconds. */
function isSmall(value: unknown): boolean {
  const rest = [value]
  for (let seen = 0; rest.length > 0; seen++) {
    const next = rest.pop()
    if (typeof next !== 'object' || next === null) continue
    const inner = Array.isArray(next) ? next : Object.values(next)
    if (seen + rest.length + inner.length > small) return false
    rest.push(...inner)
  }
  return true
}

const mostDetails = 50

function detailsOf(errors: ErrorObject[]): ErrorDetail[] {
  // Of the branches of a union only the one that was meant matters: not that it could also have been null.
  const telling = errors.filter(({ keyword, params }) => {
    if (keyword === 'anyOf' || keyword === 'oneOf') return false
    return !(keyword === 'type' && params.type === 'null')
  })
  const details = new Map<string, ErrorDetail>()
  for (const error of telling.length > 0 ? telling : errors) {
    const detail = detailOf(error)
    details.set(`${detail.pointer} ${detail.message}`, detail)
    if (details.size >= mostDetails) break
  }
  return [...details.values()]
}

/** Each message names its field, so that it can be read without the pointer. */
function detailOf({ keyword, instancePath, params, message, parentSchema, data }: ErrorObject): ErrorDetail {
  const pointer = instancePath
  const field = fieldOf(pointer) || 'the body'
  switch (keyword) {
    case 'additionalProperties': {
      const known = Object.keys((parentSchema?.properties as object | undefined) ?? {})
      const detail = unknownOption(params.additionalProperty, known, pointer)
      // Any name of a certain form: the description says which.
      const { patternProperties, description } = parentSchema ?? {}
      return patternProperties && description ? { ...detail, hint: description } : detail
    }
    case 'required':
      return requiredField(pointer, params.missingProperty, parentSchema)
    case 'enum':
      return {
        pointer,
        message: `${field}${shown(data)} is not known`,
        hint: `Use one of ${params.allowedValues.join(', ')}`,
      }
    case 'discriminator':
      return { pointer: `${pointer}/${params.tag}`, message: `${params.tag} is missing or not known` }
    case 'minLength':
      return { pointer, message: `${field} must not be empty` }
    case 'pattern':
      if (params.pattern === plainText.pattern) {
        if (data === '') return { pointer, message: `${field} must not be empty` }
        const hint = 'Remove it; put such data into the payload'
        return { pointer, message: `${field} has a control character`, hint }
      }
      if (parentSchema?.format === 'instant-or-local')
        return { pointer, message: `${field} is not a time`, hint: formatHints['instant-or-local'] }
      if (parentSchema?.format !== 'date-time') return { pointer, message: `${field} ${message}` }
      return { pointer, message: `${field} is outside the years 1970 to 9999`, hint: formatHints['date-time'] }
    case 'format':
      return {
        pointer,
        message: `${field} is not ${formatWords[params.format] ?? params.format}`,
        hint: formatHints[params.format],
      }
    default:
      return { pointer, message: `${field} ${message ?? 'is not valid'}` }
  }
}

/** A value that is short enough to be named. */
function shown(value: unknown): string {
  const short = typeof value === 'number' || (typeof value === 'string' && value.length > 0 && value.length <= 40)
  return short ? ` ${value}` : ''
}

/** What a missing field may be is said with it: a person who sent `{}` learns what to send. */
function requiredField(parent: string, name: string, parentSchema: ErrorObject['parentSchema']): ErrorDetail {
  const properties = (parentSchema?.properties ?? {}) as Record<string, { enum?: string[]; description?: string }>
  const { enum: words, description } = properties[name] ?? {}
  const hint = words ? `Use one of ${words.join(', ')}` : description
  return { pointer: `${parent}/${escaped(name)}`, message: `${name} is required`, ...(hint && { hint }) }
}

const formatWords: Record<string, string> = {
  'date-time': 'an instant',
  uuid: 'an id',
  'event-id': 'the id of an event',
  'well-formed': 'well-formed',
}

const formatHints: Record<string, string> = {
  'date-time': 'Use ISO 8601 with an offset, such as 2030-01-31T08:00:00Z',
  'instant-or-local':
    'Use ISO 8601, such as 2030-01-31T08:00:00Z, or 2030-01-31T08:00:00 together with a timezone; the years 1970 to 9999',
  uuid: 'Use an id as the API gives it out',
  'event-id': 'Send the last id that came, or leave it out to listen from now on',
  'well-formed': 'Send well-formed Unicode: no lone surrogates',
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
