/**
 * The operations of the API for a program that has the node inside: the same checks and the same routes as over HTTP, without
 * a connection, so that every rule exists once.
 */
import { CarillonError, nearest } from '@carillon/contract'
import { requestError } from './problem.ts'
import { requestCheck } from './request-checks.ts'
import type { Caller, Reply, Route } from './route.ts'
import type { Services } from './services.ts'

export interface CallParts {
  params?: object
  query?: object
  headers?: object
  body?: unknown
}

type RequestCheck = ReturnType<typeof requestCheck>

const never = new AbortController().signal

export class InProcessApi {
  readonly #routes: Readonly<Record<string, Route>>
  readonly #services: () => Services
  readonly #checks = new Map<string, RequestCheck>()

  constructor(routes: Readonly<Record<string, Route>>, services: () => Services) {
    this.#routes = routes
    this.#services = services
  }

  /** What a client would read from the answer: JSON that was parsed, or text. */
  async call(operationId: string, parts: CallParts, caller: Caller): Promise<unknown> {
    const route = this.#routeOf(operationId)
    const services = this.#services()
    try {
      return await answerOf(route, this.check(operationId, parts), caller, services)
    } catch (error) {
      throw requestError(error)
    }
  }

  /** Throws VALIDATION unless the request fits, as over HTTP; answers it as the route would get it. */
  check(operationId: string, parts: CallParts): Required<CallParts> {
    let check = this.#checks.get(operationId)
    if (check === undefined) {
      check = requestCheck(this.#routeOf(operationId).operation)
      this.#checks.set(operationId, check)
    }
    // A body is what JSON makes of it; queries and headers without a value were not given.
    const { body } = parts
    const request = {
      params: given(parts.params),
      query: given(parts.query),
      headers: given(parts.headers),
      body: body === undefined ? undefined : JSON.parse(JSON.stringify(body)),
    }
    check(request)
    return request
  }

  #routeOf(operationId: string): Route {
    if (Object.hasOwn(this.#routes, operationId)) return this.#routes[operationId]!
    throw unknownOperation(operationId, Object.keys(this.#routes))
  }
}

async function answerOf(
  route: Route,
  request: Required<CallParts>,
  caller: Caller,
  services: Services,
): Promise<unknown> {
  const rawBody = request.body === undefined ? '' : JSON.stringify(request.body)
  const asked = { ...request, caller, rawBody, signal: never }
  const reply = await route.answer(asked as never, services)
  return answered(reply)
}

function answered({ body, text, headers }: Reply<unknown>): unknown {
  if (text !== undefined) {
    const type = headers?.['content-type'] ?? 'application/json'
    return type.includes('json') ? JSON.parse(text) : text
  }
  // As it would travel: instants are texts, what is undefined is not there.
  return body === undefined ? undefined : JSON.parse(JSON.stringify(body))
}

function given(part: object | undefined): object {
  return Object.fromEntries(Object.entries(part ?? {}).filter(([, value]) => value !== undefined))
}

function unknownOperation(operationId: string, known: string[]): CarillonError {
  const near = nearest(operationId, known)
  return new CarillonError('VALIDATION', {
    message: `there is no operation ${operationId}`,
    hint: near === null ? 'See docs/reference.md' : `Did you mean ${near}?`,
  })
}
