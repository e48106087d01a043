/**
 * The API as data. An operation says everything about one request: where it goes, what it takes, what it answers, what it
 * needs. The node registers its routes from this table, validates by its schemas and prints it as OpenAPI; so none of the
 * three can say something else than the others.
 */
import type { Static, TObject, TSchema } from 'typebox'
import type { ErrorCode } from '../errors.ts'
import type { Scope } from '../words.ts'
import type { Links } from './links.ts'

export interface Answer {
  description: string
  schema?: TSchema
  /** application/json unless given. */
  mediaType?: string
  /** It may also come as server-sent events. */
  streams?: boolean
  /** Operations that go on from it. */
  links?: Links
}

export interface ApiOperation {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With parameters as `:name`. */
  path: string
  tag: string
  summary: string
  description?: string
  /** What the caller's token must allow; `any`: every token will do; null: no token needed. */
  scope: Scope | 'any' | null
  /** Only platform tokens. */
  platform?: true
  /** Without a token it is answered; a platform token that allows this is told more. */
  moreWith?: Scope
  params?: TObject
  query?: TObject
  /** Request headers it understands, in lower case. */
  headers?: TObject
  body?: TSchema
  /** What is checked of the body before the route, which checks the rest itself. */
  roughBody?: TSchema
  /** Media types of the body besides application/json. */
  bodyTypes?: string[]
  /** 64 KiB unless given. */
  bodyLimitBytes?: number
  /**
   * Places of the body that are passed on as they were written: JSON pointers in which `*` stands for every item of a list.
   */
  opaque?: readonly string[]
  /** It may ask much of the database: of these a node answers only a few at once. */
  heavy?: boolean
  answers: Record<number, Answer>
  /** Errors of its own, besides those every operation may answer with. */
  errors: ErrorCode[]
}

type Of<T> = T extends TSchema ? Static<T> : undefined

/** What a handler of the operation is given. */
export interface RequestOf<O extends ApiOperation> {
  params: Of<O['params']>
  query: Of<O['query']>
  headers: Of<O['headers']>
  body: Of<O['body']>
}

type SchemaAt<A, Status extends number> = Status extends keyof A
  ? A[Status] extends { schema: infer S extends TSchema }
    ? S
    : never
  : never

/** What a success of the operation looks like. */
export type AnswerOf<O extends ApiOperation> = Static<SchemaAt<O['answers'], 200 | 201 | 202>>

export function operation<const O extends ApiOperation>(declared: O): O {
  return declared
}
