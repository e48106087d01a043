import { type TSchema, Type } from 'typebox'
import { closed, Nullable, Text } from '../schemas/scalars.ts'

export const pageFields = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000, default: 100, description: 'At most this many entries.' }),
  ),
  cursor: Type.Optional(
    Type.String({ maxLength: 1_200, description: '`nextCursor` of the page before.', pattern: '^[A-Za-z0-9_-]+$' }),
  ),
}

/** A page may be shorter than asked for, even empty, though more follows: what matters is `nextCursor`. */
export function Page<T extends TSchema>(items: T, title: string) {
  return Type.Object(
    {
      items: Type.Array(items, { description: 'The entries of this page.' }),
      nextCursor: Nullable(Text('Ask again with this `cursor`; null: that was all.')),
    },
    { ...closed, title, description: 'A page; it may be short or empty though more follows.' },
  )
}

export const labelFilter = Type.Optional(
  Type.Array(
    Type.String({ minLength: 3, maxLength: 320, pattern: '^[^:\\u0000-\\u001f\\u007f]+:[^\\u0000-\\u001f\\u007f]+$' }),
    {
      maxItems: 16,
      description: '`name:text`; several must all match.',
      examples: [['team:billing']],
    },
  ),
)
