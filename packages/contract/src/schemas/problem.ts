import { Type } from 'typebox'

/** RFC 9457, with a code to match on and everything that is wrong at once. */
export const Problem = Type.Object(
  {
    type: Type.String({ examples: ['urn:carillon:error:VALIDATION'] }),
    title: Type.String(),
    status: Type.Integer(),
    code: Type.String({ examples: ['VALIDATION'] }),
    detail: Type.String(),
    instance: Type.Optional(Type.String({ description: 'The id of the request, as in the log of the node.' })),
    errors: Type.Array(
      Type.Object({
        pointer: Type.Optional(Type.String({ examples: ['/schedule'] })),
        message: Type.String(),
        hint: Type.Optional(Type.String()),
      }),
    ),
  },
  { title: 'Problem' },
)
