import { type Static, Type } from 'typebox'
import type { ErrorCode } from '../errors.ts'
import { Text } from './scalars.ts'

/** RFC 9457, with a code to match on and everything that is wrong at once. */
export const Problem = Type.Object(
  {
    type: Text('A URI for the kind of problem.', { examples: ['urn:carillon:error:VALIDATION'] }),
    title: Text('The kind of problem, for people.'),
    status: Type.Integer({ description: 'The HTTP status.' }),
    code: Type.Unsafe<ErrorCode>(Text('A stable word to match on.', { examples: ['VALIDATION'] })),
    detail: Text('What is wrong with this request.'),
    instance: Type.Optional(Text('The id of the request, as in the log of the node.')),
    errors: Type.Array(
      Type.Object({
        pointer: Type.Optional(Text('JSON pointer to the part that is wrong.', { examples: ['/schedule'] })),
        message: Text('What is wrong with it.'),
        hint: Type.Optional(Text('What to do about it.')),
      }),
      { description: 'Everything that is wrong, at most 50 entries.' },
    ),
  },
  { title: 'Problem', description: 'Why a request was not answered as asked (RFC 9457).' },
)
export type Problem = Static<typeof Problem>
