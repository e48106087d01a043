import { type Static, Type } from 'typebox'
import { scopes } from '../words.ts'
import { closed, Nullable, Text, Word } from './scalars.ts'

export const Me = Type.Object(
  {
    name: Text('The caller, as the audit names it.'),
    tenant: Nullable(Text('The only tenant it may act for; null: a platform token, which may act for every tenant.')),
    scopes: Type.Array(Word(scopes), { description: 'What it may do.' }),
    authentication: Word(['NONE', 'TOKEN'], { description: 'NONE: this node asks nobody for a token.' }),
    node: Type.Object(
      { name: Text('The name of the node that answered.'), version: Text('Its version.') },
      { ...closed, description: 'The node that answered.' },
    ),
  },
  { ...closed, title: 'Me', description: 'Who is asking, and what that caller may do.' },
)
export type Me = Static<typeof Me>
