/** Requests against the schemas of the contract: what is wrong is told all at once, with a pointer and what to do. */
import { CarillonError, type ErrorDetail } from '@carillon/contract'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import formats from 'ajv-formats'
import type { TSchema } from 'typebox'

const options = { allErrors: true, strict: false, discriminator: true, validateFormats: true } as const
/** A body is JSON: a text is no number there. */
const exact = new Ajv({ ...options, coerceTypes: false })
/** A query is text: `limit=10` is meant as a number, one `label` as a list of one. Defaults are filled in. */
const coercing = new Ajv({ ...options, coerceTypes: 'array', useDefaults: true })
for (const ajv of [exact, coercing]) (formats as unknown as (ajv: Ajv) => void)(ajv)

export type Check = (value: unknown) => void

/** A function that throws VALIDATION unless its argument fits. */
export function checker(schema: TSchema, part: 'body' | 'query' | 'params' | 'headers'): Check {
  const validate: ValidateFunction = (part === 'body' ? exact : coercing).compile(schema)
  return (value) => {
    if (validate(value)) return
    throw new CarillonError('VALIDATION', detailsOf(validate.errors ?? []))
  }
}

const mostDetails = 50

function detailsOf(errors: ErrorObject[]): ErrorDetail[] {
  // Of the branches of a choice only the one that was meant is of interest: not that it also could have been null.
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

function detailOf({ keyword, instancePath, params, message, parentSchema }: ErrorObject): ErrorDetail {
  switch (keyword) {
    case 'additionalProperties': {
      const known = Object.keys((parentSchema?.properties as object | undefined) ?? {})
      const hint = known.length > 0 ? `Known are ${known.join(', ')}` : undefined
      return { pointer: `${instancePath}/${escaped(params.additionalProperty)}`, message: 'is not known', hint }
    }
    case 'required':
      return { pointer: `${instancePath}/${escaped(params.missingProperty)}`, message: 'is required' }
    case 'enum':
      return { pointer: instancePath, message: 'is not known', hint: `Use one of ${params.allowedValues.join(', ')}` }
    case 'discriminator':
      return { pointer: `${instancePath}/${params.tag}`, message: 'is missing or not known' }
    case 'format':
      return { pointer: instancePath, message: `is not a ${params.format}`, hint: formatHints[params.format] }
    default:
      return { pointer: instancePath, message: message ?? 'is not valid' }
  }
}

const formatHints: Record<string, string> = {
  'date-time': 'Use ISO 8601 with an offset, such as 2030-01-31T08:00:00Z',
  uuid: 'Use an id as the API gives it out',
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
