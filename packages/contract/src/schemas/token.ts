import { type Static, Type } from 'typebox'
import { scopes } from '../words.ts'
import { closed, Described, Instant, Integer, Name, Nullable, Text, Word } from './scalars.ts'

const fields = {
  keyId: Text('Names it; no secret.'),
  name: Text('What it is for.'),
  tenant: Nullable(Text('Its tenant; null: a platform token, which may act for every tenant.')),
  scopes: Type.Array(Word(scopes), { description: 'What it allows.' }),
  createdAt: Described(Instant, 'When it was created.'),
  expiresAt: Nullable(Described(Instant, 'When it ends by itself.')),
  revokedAt: Nullable(Described(Instant, 'When it was revoked.')),
}

export const Token = Type.Object(fields, { ...closed, title: 'Token', description: 'An API key, without its secret.' })
export type Token = Static<typeof Token>

export const NewToken = Type.Object(
  { ...fields, key: Text('The key itself. It is shown only here.') },
  { ...closed, title: 'NewToken', description: 'An API key that was just created.' },
)
export type NewToken = Static<typeof NewToken>

export const TokenInput = Type.Object(
  {
    name: Described(Name, 'What it is for.'),
    scopes: Type.Array(Word(scopes), { minItems: 1, maxItems: 10, description: 'What it allows.' }),
    expiresInSec: Type.Optional(
      Integer({ min: 1, max: 100 * 366 * 86_400 }, { description: 'Left out: until it is revoked.' }),
    ),
    platform: Type.Optional(
      Type.Boolean({ description: 'True: for every tenant. Only a platform token may create such a one.' }),
    ),
  },
  { ...closed, title: 'TokenInput', description: 'A new API key, for the tenant of the request.' },
)
export type TokenInput = Static<typeof TokenInput>
