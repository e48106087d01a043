/** What a route is: an operation of the contract and the function that answers it. No route knows Fastify. */
import type { Scope } from '@carillon/contract'
import type { AnswerOf, ApiOperation, RequestOf } from '@carillon/contract/api'
import type { Services } from './services.ts'

/** Who asks. */
export interface Caller {
  /** Every query is bound to it. */
  tenant: string
  /** A token of the installation itself: it may act for any tenant, and its workers serve the installation's pools. */
  platform: boolean
  /** Of a platform token: it named the tenant that it acts for. */
  actsForTenant?: true
  scopes: ReadonlySet<Scope>
  /** For the audit and the timeline, such as `key:3f9a` or `user:ada@example.com`. */
  actor: string
}

export type RouteRequest<O extends ApiOperation> = RequestOf<O> & {
  caller: Caller
  /** The body as it came, for operations that take an Idempotency-Key. */
  rawBody: string
  /** Whether this node asks for tokens. */
  auth: boolean
  /** Aborted when the client is gone, or may not have its stream any longer. */
  signal: AbortSignal
}

/** What a body may be that becomes the answer: as JSON a Date is the text of its instant. */
export type BodyOf<O extends ApiOperation> = Shown<AnswerOf<O>>
type Shown<T> = T extends string ? T | Date : T extends object ? { [F in keyof T]: Shown<T[F]> } : T

export interface Reply<Body = never> {
  status: number
  /** Becomes JSON. */
  body?: Body
  /** Sent as it is, instead of `body`. */
  text?: string
  /** Sent piece by piece, each when the client has taken the one before; ends when `signal` aborts. Instead of `body`. */
  stream?: AsyncIterable<string>
  headers?: Record<string, string>
}

export interface Route<O extends ApiOperation = ApiOperation> {
  operation: O
  answer: (request: RouteRequest<O>, services: Services) => Promise<Reply<unknown>>
}

export function route<O extends ApiOperation>(
  operation: O,
  answer: (request: RouteRequest<O>, services: Services) => Promise<Reply<BodyOf<O>>>,
): Route<O> {
  return { operation, answer }
}

export function ok<Body>(body: Body, headers?: Record<string, string>): Reply<Body> {
  return { status: 200, body, headers }
}

export function created<Body>(body: Body, headers?: Record<string, string>): Reply<Body> {
  return { status: 201, body, headers }
}

export const noContent: Reply = { status: 204 }
