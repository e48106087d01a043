/** What runs an execution: a handler of a worker, or one of the node's own targets. */
import { Type } from 'typebox'
import { httpMethods } from '../words.ts'
import { closed, Described, Name, ShownAs, Word } from './scalars.ts'

const SecretRef = Type.Object(
  {
    secretRef: Type.String({
      maxLength: 200,
      pattern: '^(env|file):.+$',
      description: 'Where the secret is read when the request is sent, if the operator allows its prefix.',
    }),
  },
  { ...closed, title: 'SecretRef', description: 'A secret by its place; the secret itself is never stored or shown.' },
)

export const HttpTarget = Type.Object(
  {
    url: Type.String({ minLength: 1, maxLength: 2_000, description: 'Where the request goes: http or https.' }),
    method: Type.Optional(Word(httpMethods, { default: 'POST', description: 'The method of the request.' })),
    headers: Type.Optional(
      Type.Record(
        Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$" }),
        Type.Union([Type.String({ maxLength: 4_000, pattern: '^[^\\u0000-\\u001f\\u007f]*$' }), SecretRef]),
        {
          maxProperties: 50,
          additionalProperties: false,
          description: 'Headers of the request: texts, or references to secrets.',
        },
      ),
    ),
    signWith: Type.Optional(
      Type.Array(SecretRef, {
        minItems: 1,
        maxItems: 2,
        description: 'Keys of the Standard Webhooks signature: two while a key is being replaced.',
      }),
    ),
  },
  { ...closed, title: 'HttpTarget', description: 'A request that a node sends; the payload is its body.' },
)

export const ShellTarget = Type.Object(
  {
    command: Type.String({ minLength: 1, maxLength: 200, description: 'A name on the operator’s list, not a path.' }),
    args: Type.Optional(
      Type.Array(Type.String({ maxLength: 4_000, pattern: '^[^\\u0000]*$' }), {
        maxItems: 100,
        description: 'Arguments after those the operator gave it.',
      }),
    ),
  },
  { ...closed, title: 'ShellTarget', description: 'A program of the operator’s list that a node runs.' },
)

const description = 'Exactly one of `handler`, `http` and `shell`; `pool` goes with `handler`.'
const pool = Type.Optional(Described(Name, 'The pool whose workers run it. Left out: `default`.'))
const handler = Described(Name, 'The name of the handler, as its workers registered it.')

const oneOfThem = Type.Unsafe<unknown>({
  title: 'Target',
  description,
  oneOf: [
    Type.Object({ pool, handler }, { ...closed, title: 'HandlerTarget', description: 'A handler of a worker.' }),
    Type.Object({ http: HttpTarget }, { ...closed, title: 'TargetOverHttp', description: 'A request to a URL.' }),
    Type.Object(
      { shell: ShellTarget },
      { ...closed, title: 'TargetInShell', description: 'A program of the operator.' },
    ),
  ],
})

export const Target = ShownAs(
  Type.Object(
    {
      pool,
      handler: Type.Optional(handler),
      http: Type.Optional(HttpTarget),
      shell: Type.Optional(ShellTarget),
    },
    { ...closed, title: 'Target', description },
  ),
  oneOfThem,
)
