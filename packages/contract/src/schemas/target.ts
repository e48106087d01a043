/** What runs an execution: a handler of a worker, or one of the node's own targets. */
import { Type } from 'typebox'
import { httpMethods, invocationTypes } from '../words.ts'
import { closed, Described, Name, plainText, ShownAs, Word } from './scalars.ts'

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
    url: Type.Union([Type.String({ minLength: 1, maxLength: 2_000 }), SecretRef], {
      description: 'Where the request goes: http or https; or a reference, if the URL is a secret itself.',
    }),
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
    bodySecrets: Type.Optional(
      Type.Record(Type.String({ pattern: '^(/[A-Za-z0-9_.$@:-]{1,100}){1,8}$' }), SecretRef, {
        maxProperties: 20,
        additionalProperties: false,
        description:
          'Secrets in members of the body, by their place such as `/auth/token`. They are put there when the request is sent; objects on the way are made, what the payload has in the place is replaced.',
      }),
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
    env: Type.Optional(
      Type.Record(Type.String({ pattern: '^SECRET_[A-Z0-9_]{1,100}$' }), SecretRef, {
        maxProperties: 20,
        additionalProperties: false,
        description: 'Secrets in variables of the program’s environment; their names begin with `SECRET_`.',
      }),
    ),
  },
  { ...closed, title: 'ShellTarget', description: 'A program of the operator’s list that a node runs.' },
)

export const KafkaTarget = Type.Object(
  {
    cluster: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_-]{1,100}$',
        description: 'A name on the operator’s list. Left out: the only one, or the one named `default`.',
      }),
    ),
    topic: Type.String({
      pattern: '^[A-Za-z0-9._-]{1,249}$',
      description: 'The topic, which must exist and be on the operator’s list.',
    }),
    key: Type.Optional(
      Type.String({ maxLength: 1_000, description: 'The key of the message. Left out: the id of the job.' }),
    ),
    headers: Type.Optional(
      Type.Record(Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$" }), Type.String({ maxLength: 4_000 }), {
        maxProperties: 50,
        additionalProperties: false,
        description: 'Headers of the message.',
      }),
    ),
  },
  { ...closed, title: 'KafkaTarget', description: 'A message that a node publishes; the payload is its value.' },
)

export const LambdaTarget = Type.Object(
  {
    functionArn: Type.String({
      minLength: 1,
      maxLength: 300,
      description: 'The ARN of the function, with or without a version or alias; it must be on the operator’s list.',
    }),
    invocationType: Type.Optional(
      Word(invocationTypes, {
        default: 'RequestResponse',
        description: 'Wait for the answer of the function, or only until AWS has queued the event.',
      }),
    ),
    envelope: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Send `{"carillon": {…}, "payload": …}`, with the execution’s id and fence, instead of the payload.',
      }),
    ),
  },
  { ...closed, title: 'LambdaTarget', description: 'A function of AWS Lambda; the payload is its event.' },
)

/** How a caller names a graph. */
export const DagReference = Type.String({
  minLength: 1,
  maxLength: 200,
  ...plainText,
  description: 'The id of a graph or its key. What has the form of a uuid is an id first.',
})

const DagTarget = Described(
  DagReference,
  'The id or key of a graph, a run of which is started; the execution ends as the run does. The payload is the run’s.',
)

const description =
  'Exactly one of `handler`, `http`, `shell`, `kafka`, `lambda` and `dag`; `pool` goes with `handler`.'
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
    Type.Object({ kafka: KafkaTarget }, { ...closed, title: 'TargetInKafka', description: 'A message to a topic.' }),
    Type.Object({ lambda: LambdaTarget }, { ...closed, title: 'TargetInLambda', description: 'A function of AWS.' }),
    Type.Object({ dag: DagTarget }, { ...closed, title: 'TargetOfSteps', description: 'A run of a graph.' }),
  ],
})

export const Target = ShownAs(
  Type.Object(
    {
      pool,
      handler: Type.Optional(handler),
      http: Type.Optional(HttpTarget),
      shell: Type.Optional(ShellTarget),
      kafka: Type.Optional(KafkaTarget),
      lambda: Type.Optional(LambdaTarget),
      dag: Type.Optional(DagTarget),
    },
    { ...closed, title: 'Target', description },
  ),
  oneOfThem,
)
