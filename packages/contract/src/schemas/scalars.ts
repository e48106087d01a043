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
  description: 'W3C trace context of whoever creates the work.',
})

/** Any JSON value. */
export const Json = Type.Unknown({ description: 'Any JSON.' })

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

export function Nullable<T extends TSchema>(schema: T) {
  return Type.Unsafe<Static<T> | null>({ anyOf: [schema, { type: 'null' }] })
}

/** An object that refuses what it does not know. */
export const closed = { additionalProperties: false } as const

function LabelText() {
  return Type.String({ minLength: 1, maxLength: 255, ...plainText })
}
