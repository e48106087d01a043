/** The node's public API, typed by the contract: `call('getJob', { params: { jobId } })`. */
import { type AnswerOf, type api, apiPaths, type Problem, type RequestOf } from '@carillon/contract'
import { reached, unreachable } from './reach.ts'
import { session } from './session.ts'

type Api = typeof api
export type OperationId = keyof Api & keyof typeof apiPaths
export type AnswerTo<Id extends OperationId> = AnswerOf<Api[Id]>

type Part<Request, Name extends keyof Request> = Request[Name] extends undefined
  ? { [N in Name]?: undefined }
  : object extends Request[Name]
    ? { [N in Name]?: Request[Name] }
    : { [N in Name]: Request[Name] }

export type CallOf<Id extends OperationId> = Part<RequestOf<Api[Id]>, 'params'> &
  Part<RequestOf<Api[Id]>, 'query'> &
  Part<RequestOf<Api[Id]>, 'body'> & { headers?: Record<string, string>; signal?: AbortSignal }

/** The node's refusal, as its problem document says it. */
export class Refusal extends Error {
  readonly status: number
  readonly problem: Partial<Problem>

  constructor(status: number, problem: Partial<Problem>) {
    super(problem.detail ?? problem.title ?? `The node answered ${status}`)
    this.name = 'Refusal'
    this.status = status
    this.problem = problem
  }

  get code(): string | undefined {
    return this.problem.code
  }
}

/** No answer came: the node is down, or the network is. */
export class Unreachable extends Error {
  constructor(options?: ErrorOptions) {
    super('The node does not answer', options)
    this.name = 'Unreachable'
  }
}

interface Wanted {
  params?: object
  query?: object
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
}

export async function call<Id extends OperationId>(id: Id, wanted: CallOf<Id>): Promise<AnswerTo<Id>> {
  const response = await request(id, wanted as Wanted)
  return (response.status === 204 ? undefined : await response.json()) as AnswerTo<Id>
}

/** The answer as it came, for streams. Throws Refusal and Unreachable. */
export async function request(id: OperationId, wanted: Wanted): Promise<Response> {
  const [method, path] = apiPaths[id].split(' ') as [string, string]
  const { token, tenant } = session()
  const init: RequestInit = {
    method,
    headers: {
      ...(wanted.body !== undefined && { 'content-type': 'application/json' }),
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(tenant !== null && { 'carillon-tenant': tenant }),
      ...wanted.headers,
    },
    signal: wanted.signal,
    ...(wanted.body !== undefined && { body: JSON.stringify(wanted.body) }),
  }
  const response = await fetch(filled(path, wanted.params ?? {}) + searchOf(wanted.query ?? {}), init).catch(
    (error: unknown) => {
      if (wanted.signal?.aborted) throw error
      unreachable()
      throw new Unreachable({ cause: error })
    },
  )
  reached()
  if (response.ok) return response
  throw new Refusal(response.status, (await response.json().catch(() => ({}))) as Partial<Problem>)
}

function filled(path: string, params: object): string {
  return path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name as keyof typeof params])))
}

function searchOf(query: object): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    // An empty text is an answer of its own: `error=` asks for those without an error.
    if (value === undefined || value === null) continue
    for (const each of Array.isArray(value) ? value : [value]) search.append(name, String(each))
  }
  const text = search.toString()
  return text === '' ? '' : `?${text}`
}
