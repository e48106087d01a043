/**
 * HTTP access to an installation: several nodes, one of them in use. What must stay true:
 *
 * - A request that may have been taken is sent again only if that does no harm (`repeatable`).
 * - An answer of a node, refusals included, is the answer. Only where there was none, or where the node says that it
 *   cannot serve (502, 503, 504), is another node asked.
 * - Aborting a request closes its connection, so the node knows that the caller has gone.
 */

import { CarillonError } from '@carillon/contract'
import { Backoff, type Clock, type Logger, systemClock } from '@carillon/contract/process'
import { type Dispatcher, Pool } from 'undici'
import { consoleLogger } from '../console-logger.ts'
import { pause } from '../pause.ts'
import { NoAnswer, noAnswer, noneAnswered } from './no-answer.ts'
import { type Candidate, NodeChoice } from './node-choice.ts'
import { isOpenToOthers, type NodeOptions, nodeAddresses } from './node-options.ts'
import { problemError, type RawAnswer } from './problem.ts'

export type { NodeOptions } from './node-options.ts'

export interface NodeRequest {
  method: string
  /** From the root, with what is variable encoded, and the query if there is one. */
  path: string
  /** JSON text. */
  body?: string
  headers?: Record<string, string>
  /**
   * Idempotent, so it is sent again when its outcome is unknown. Unless said, reading
   * and deleting are, and what carries an Idempotency-Key.
   */
  repeatable?: boolean
  /** For one try at one node. */
  timeoutMs?: number
  /** A long poll: given up when its node is found not to answer other requests. */
  poll?: boolean
  signal?: AbortSignal
}

export interface NodeAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  /** What the JSON says, text if it is not JSON, undefined if there was nothing. */
  body: unknown
}

interface Node extends Candidate {
  prefix: string
  pool: Pool
  polls: Set<AbortController>
}

const connectMs = 3_000
const probeMs = 2_000
const unable = new Set([502, 503, 504])

/**
 * Asks an installation, at whichever of its nodes answers.
 *
 * @example
 * ```ts
 * import { Nodes } from '@carillon/sdk'
 *
 * const nodes = new Nodes({ urls: ['https://a.example:7171', 'https://b.example:7171'], token: 'crl_…' })
 * const { body } = await nodes.ask({ method: 'GET', path: '/v1/jobs?limit=10' })
 * await nodes.close()
 * ```
 */
export class Nodes {
  readonly #options: NodeOptions
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #choice: NodeChoice<Node>
  #probing = false
  #closed = false

  constructor(options: NodeOptions) {
    const { clock = systemClock, logger = consoleLogger, tls, connections = 128 } = options
    this.#options = options
    this.#clock = clock
    this.#logger = logger
    const ca = tls?.ca as string | Buffer | (string | Buffer)[] | undefined
    const addresses = nodeAddresses(options.urls)
    const nodes = addresses.map(({ url, origin, prefix }): Node => {
      const pool = new Pool(origin, {
        connections,
        allowH2: false,
        headersTimeout: 0,
        bodyTimeout: 0,
        connect: { timeout: connectMs, ...(ca !== undefined && { ca }) },
      })
      return { url, prefix, pool, polls: new Set(), failures: 0, restsUntil: null }
    })
    this.#choice = new NodeChoice(nodes, { clock })
    const open = options.token === undefined ? undefined : addresses.find(isOpenToOthers)
    if (open) logger.warn({ url: open.url }, 'the token travels in plain text: use https, except to this machine')
  }

  /** The node that is asked next. */
  get url(): string {
    return this.#choice.current().url
  }

  /** All nodes, the preferred one first. */
  get urls(): string[] {
    return this.#choice.nodes.map(({ url }) => url)
  }

  /** Throws a CarillonError: what the node refused with, or UNAVAILABLE if none answered. */
  ask(request: NodeRequest): Promise<NodeAnswer> {
    return this.#atANode(request, (node) => this.#askNode(node, request))
  }

  /** As `ask`, for an answer that is read while it comes; `signal` or no longer reading ends it. */
  open(request: NodeRequest): Promise<AsyncIterable<Uint8Array>> {
    return this.#atANode(request, (node) => this.#openAt(node, request))
  }

  async #atANode<T>(request: NodeRequest, ask: (node: Node) => Promise<T>): Promise<T> {
    const { signal = never, repeatable = isRepeatable(request) } = request
    const until = this.#clock.now() + (this.#options.patienceMs ?? 0)
    const backoff = new Backoff()
    const asked = new Map<Node, CarillonError>()
    for (;;) {
      signal.throwIfAborted()
      if (this.#closed) throw new CarillonError('UNAVAILABLE', 'This link is closed')
      this.#probe()
      const node = this.#choice.current()
      try {
        return await ask(node)
      } catch (thrown) {
        if (!(thrown instanceof NoAnswer)) throw thrown
        this.#rest(node, thrown)
        asked.set(node, thrown.error)
        if (!thrown.untaken && !repeatable) throw thrown.error
        if (!asked.has(this.#choice.current())) continue
        if (this.#clock.now() >= until) throw noneAnswered([...asked.values()])
      }
      await pause(backoff.nextMs(), signal)
      asked.clear()
    }
  }

  /** As `ask`, for those who want the body only. */
  async request(request: NodeRequest): Promise<unknown> {
    return (await this.ask(request)).body
  }

  /** Ends every connection; what is under way fails. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await Promise.all(this.#choice.nodes.map(({ pool }) => pool.destroy()))
  }

  async #askNode(node: Node, request: NodeRequest): Promise<NodeAnswer> {
    const raw = await this.#send(node, request, await this.#headers(request))
    if (unable.has(raw.status)) throw new NoAnswer(problemError(node.url, raw))
    this.#choice.answered(node)
    if (raw.status >= 300) throw problemError(node.url, raw)
    return { status: raw.status, headers: raw.headers, body: bodyOf(node, raw) }
  }

  async #openAt(node: Node, request: NodeRequest): Promise<AsyncIterable<Uint8Array>> {
    const { path, signal, timeoutMs = this.#options.timeoutMs ?? 30_000 } = request
    const ending = new AbortController()
    const timer = setTimeout(() => ending.abort(silence), timeoutMs)
    signal?.addEventListener('abort', () => ending.abort(), { once: true })
    try {
      const headers = await this.#headers(request)
      const method = request.method as Dispatcher.HttpMethod
      const answer = await node.pool.request({ method, path: node.prefix + path, headers, signal: ending.signal })
      if (answer.statusCode === 200) {
        this.#choice.answered(node)
        return answer.body
      }
      const raw = { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
      if (unable.has(raw.status)) throw new NoAnswer(problemError(node.url, raw))
      throw problemError(node.url, raw)
    } catch (thrown) {
      signal?.throwIfAborted()
      if (thrown instanceof NoAnswer || thrown instanceof CarillonError) throw thrown
      throw noAnswer(node.url, thrown)
    } finally {
      clearTimeout(timer)
    }
  }

  async #headers({ body, headers }: NodeRequest): Promise<Record<string, string>> {
    const { token, tenant } = this.#options
    const all: Record<string, string> = { accept: 'application/json' }
    if (body !== undefined) all['content-type'] = 'application/json'
    // Headers are written as Latin-1; the name of a tenant travels as UTF-8.
    if (tenant !== undefined) all['carillon-tenant'] = Buffer.from(tenant).toString('latin1')
    if (token !== undefined) all.authorization = `Bearer ${typeof token === 'function' ? await token() : token}`
    return headers === undefined ? all : { ...all, ...headers }
  }

  async #send(node: Node, request: NodeRequest, headers: Record<string, string>): Promise<RawAnswer> {
    const { method, path, body = null, signal, timeoutMs = this.#options.timeoutMs ?? 30_000 } = request
    const ending = new AbortController()
    const timer = setTimeout(() => ending.abort(silence), timeoutMs)
    const abort = () => ending.abort()
    signal?.addEventListener('abort', abort)
    if (request.poll) node.polls.add(ending)
    try {
      if (signal?.aborted) abort()
      const answer = await node.pool.request({
        method: method as Dispatcher.HttpMethod,
        path: node.prefix + path,
        headers,
        body,
        signal: ending.signal,
      })
      return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
    } catch (thrown) {
      signal?.throwIfAborted()
      if (ending.signal.reason === silence) {
        const message = `${node.url} did not answer within ${timeoutMs} ms`
        throw new NoAnswer(new CarillonError('UNAVAILABLE', message), { silent: true })
      }
      throw noAnswer(node.url, thrown)
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      node.polls.delete(ending)
    }
  }

  #rest(node: Node, { error, silent }: NoAnswer): void {
    const before = node.restsUntil
    this.#choice.failed(node)
    // Its polls would wait for their whole time; if it comes back, they can be asked again.
    if (silent) for (const poll of node.polls) poll.abort()
    const next = this.#choice.current()
    if (before === null && next !== node) {
      this.#logger.warn({ url: node.url, next: next.url, error }, 'a node does not serve; using another one')
    }
  }

  /** Looks, beside the request, whether a node that is preferred to the current one serves again. */
  #probe(): void {
    const node = this.#probing ? undefined : this.#choice.worthProbing()
    if (node === undefined) return
    this.#probing = true
    const request = { method: 'GET', path: '/readyz', timeoutMs: probeMs } as const
    this.#send(node, request, { accept: 'application/json' })
      .then(({ status }) => (status === 200 ? this.#choice.answered(node) : this.#choice.failed(node)))
      .catch(() => this.#choice.failed(node))
      .finally(() => {
        this.#probing = false
      })
  }
}

const silence = new Error('no answer in time')
const never = new AbortController().signal

function isRepeatable({ method, headers = {} }: NodeRequest): boolean {
  return method === 'GET' || method === 'DELETE' || 'idempotency-key' in headers
}

function bodyOf(node: Node, { headers, text }: RawAnswer): unknown {
  if (text === '') return undefined
  if (!String(headers['content-type']).includes('json')) return text
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new CarillonError('INTERNAL', `${node.url} gave an answer that is not JSON`, { cause })
  }
}
