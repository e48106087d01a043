/** The small shapes that all others are made of. */
import { type Static, type TSchema, Type } from 'typebox'
import type { Range } from '../ranges.ts'

/** No control characters; well-formed, so no lone surrogates, which no portable pattern can say: what can be stored and shown. */
export const plainText = { pattern: '^[^\\u0000-\\u001f\\u007f]+$', format: 'well-formed' } as const

export const Uuid = Type.String({ format: 'uuid', description: 'An id; ordered by time.' })

export const Instant = Type.String({
  format: 'date-time',
  pattern: '^(19[7-9][0-9]|[2-9][0-9]{3})-',
  description: 'An instant of the years 1970 to 9999: ISO 8601 with an offset.',
  examples: ['2030-01-31T08:00:00Z'],
})

/** An instant, or a time on the clock of a zone that stands beside it. */
export const InstantOrLocal = Type.String({
  format: 'instant-or-local',
  pattern:
    '^(19[7-9][0-9]|[2-9][0-9]{3})-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:?[0-9]{2})?$',
  maxLength: 40,
  description:
    'ISO 8601, the years 1970 to 9999. With an offset it is an instant; without one it is a time on the clock of `timezone`, ' +
    'which must be given, and `dst` says what happens if that time does not exist or comes twice.',
  examples: ['2030-01-31T08:00:00Z', '2030-01-31T08:00:00'],
})

export const Name = Type.String({ minLength: 1, maxLength: 200, ...plainText })

/** How a caller names a job. */
export const JobReference = Type.String({
  minLength: 1,
  maxLength: 200,
  ...plainText,
  description: 'The id of a job or its key. What has the form of a uuid is an id first.',
})

export const Labels = Type.Record(Type.String({ pattern: plainText.pattern }), LabelText(), {
  propertyNames: { minLength: 1, maxLength: 63, format: plainText.format },
  maxProperties: 16,
  additionalProperties: false,
  description: 'Names and texts to filter by; executions inherit those of their job.',
  examples: [{ team: 'billing' }],
})

export const Traceparent = Type.String({
  minLength: 1,
  maxLength: 100,
  ...plainText,
  description: 'W3C trace context of the program that creates the work; the handler receives it.',
})

/** Any JSON value. */
export const Json = Type.Unknown({ description: 'Any JSON value.' })

export function Integer(range: Range, options: object = {}) {
  return Type.Integer({ minimum: range.min, maximum: range.max, ...options })
}

export function Amount(range: Range, options: object = {}) {
  return Type.Number({ minimum: range.min, maximum: range.max, ...options })
}

/** One of a list of words. */
export function Word<const T extends readonly string[]>(words: T, options: object = {}) {
  return Type.Unsafe<T[number]>({ type: 'string', enum: [...words], ...options })
}

/** The description is that of the whole, so that clients show it with the property. */
export function Nullable<T extends TSchema>(schema: T) {
  const { description, ...inner } = schema as { description?: string }
  const titled = 'title' in schema
  return Type.Unsafe<Static<T> | null>({
    anyOf: [titled ? schema : inner, { type: 'null' }],
    ...(description !== undefined && { description }),
  })
}

/** The same schema, described as what it means in this place. */
export function Described<T extends TSchema>(schema: T, description: string) {
  const titled = 'title' in schema ? { '~of': schema } : {}
  return Type.Unsafe<Static<T>>({ ...schema, ...titled, description })
}

/**
 * Validated by one schema and shown in the OpenAPI document as another. A request is checked against one flat object, which
 * finds all mistakes at once; the document shows which fields belong together. Both are made from the same fields.
 */
export function ShownAs<T extends TSchema>(schema: T, shown: TSchema) {
  return Type.Unsafe<Static<T>>({ ...schema, '~shown': shown })
}

/** A text that came from somewhere and is shown as it is. */
export function Text(description: string, options: object = {}) {
  return Type.String({ description, ...options })
}

/** A whole number, not negative. */
export function Count(description: string) {
  return Type.Integer({ minimum: 0, description })
}

/** An object that refuses what it does not know. */
export const closed = { additionalProperties: false } as const

function LabelText() {
  return Type.String({ minLength: 1, maxLength: 255, ...plainText })
}

/** The header by which a stream of server-sent events goes on where it stopped. */
export function LastEventId(description: string, example: string) {
  const said = { description, examples: [example] }
  return ShownAs(Type.String({ format: 'event-id', ...said }), Type.String({ pattern: '^[0-9]{1,15}$', ...said }))
}
