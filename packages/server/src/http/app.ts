/**
 * From routes to a Fastify application: the caller is authenticated first, then the request is checked against the contract, then
 * the route answers. Every error leaves as a problem document. No route knows Fastify.
 */
import { Readable } from 'node:stream'
import { CarillonError } from '@carillon/contract'
import type { ApiOperation } from '@carillon/contract/api'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Logger } from '../observability/logger.ts'
import type { Authenticator } from './auth/authenticator.ts'
import { platformOnly } from './auth/refusals.ts'
import { readBody } from './body/read-body.ts'
import { type BodyBounds, bodyTooLarge } from './body/scanner.ts'
import { refuseConnection } from './broken-connection.ts'
import type { Asset, Dashboard } from './dashboard.ts'
import { problemOf, problemType, requestError } from './problem.ts'
import { requestCheck } from './request-checks.ts'
import type { Caller, Reply, Route } from './route.ts'
import type { Services } from './services.ts'
import { watchStream } from './stream-watch.ts'
import { TenantLimiter } from './tenant-limiter.ts'
import { mayRead, withoutData } from './write-only.ts'

export interface AppOptions {
  services: Services
  routes: Readonly<Record<string, Route>>
  authenticator: Authenticator
  logger: Logger
  /** Left out: the node serves no pages. */
  dashboard?: Dashboard
  /** How long a request may take to arrive. */
  requestTimeoutMs?: number
  tls?: { cert: string; key: string }
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
    rawBody: string
    /** Releases the slot that the body holds. */
    release: () => void
  }
}

/** Others, which Fastify would take, are refused before it looks at them. */
const methods = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
/** Forward secrecy and authenticated encryption only; TLS 1.3 has nothing else. */
const modernTls = {
  minVersion: 'TLSv1.2',
  ciphers: [
    ...['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'],
    ...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
    ...['ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
    ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
  ].join(':'),
} as const
/** Answers depend on the moment and the caller: they must not be cached, and browsers must not guess their type. */
const everyAnswer = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' }
const nobody: Caller = { tenant: '', platform: false, scopes: new Set(), actor: 'nobody' }

export function createApp(options: AppOptions): FastifyInstance {
  const { requestTimeoutMs = 30_000 } = options
  const headersTimeout = Math.min(10_000, requestTimeoutMs)
  const patience = { headersTimeout, connectionsCheckingInterval: Math.min(2_000, requestTimeoutMs) }
  const app = Fastify({
    https: options.tls ? { ...options.tls, ...patience, ...modernTls, handshakeTimeout: 10_000 } : null,
    // Against clients that send slowly or never: a request must be there after these times, however it trickles in.
    requestTimeout: requestTimeoutMs,
    http: patience,
    keepAliveTimeout: 75_000,
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 600 },
    exposeHeadRoutes: false,
    return503OnClosing: true,
    clientErrorHandler: refuseConnection,
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) =>
      sendProblem(error, request, reply, options.logger),
    logger: false,
  } as object) as unknown as FastifyInstance
  app.decorateRequest('caller', null)
  app.decorateRequest('rawBody', '')
  app.decorateRequest('release', nothing)
  app.removeAllContentTypeParsers()
  app.setSerializerCompiler(() => JSON.stringify)
  app.setValidatorCompiler(() => () => true)
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(everyAnswer)
    try {
      options.authenticator.admit?.(request.raw)
    } catch (error) {
      return done(error as Error)
    }
    done()
  })
  app.setErrorHandler((error, request, reply) => {
    if (!methods.has(request.method)) return refuseAddress(request, reply, options)
    // The client disconnected while sending: not an error of the node.
    if (request.raw.readableAborted) error = cutOff()
    return sendProblem(error, request, reply, options.logger)
  })
  app.setNotFoundHandler(async (request, reply) => {
    const asset = await dashboardAsset(request, options.dashboard)
    if (asset === null) return refuseAddress(request, reply, options)
    return reply.headers(asset.headers).send(asset.body)
  })
  const limiters = {
    heavy: new TenantLimiter({ slots: 4, maxWaiting: 1_000 }),
    light: new TenantLimiter({ slots: 256, maxWaiting: 10_000 }),
    smallBodies: new TenantLimiter({ slots: 1_024, maxWaiting: 10_000 }),
    largeBodies: new TenantLimiter({ slots: 4, maxWaiting: 100 }),
  }
  for (const [operationId, route] of Object.entries(options.routes)) {
    // Each in a context of its own: how a body is read depends on the operation.
    void app.register(async (own) => register(own, operationId, route, { ...options, ...limiters }))
  }
  refuseOtherMethods(app, options)
  return app
}

function register(
  app: FastifyInstance,
  operationId: string,
  route: Route,
  { services, authenticator, heavy, light, smallBodies, largeBodies }: AppOptions & TenantLimiters,
): void {
  const { operation } = route
  const limiter = operation.heavy ? heavy : light
  const check = requestCheck(operation)
  const bounds = boundsOf(operation)
  parseJson(app, bounds, operation.opaque ?? [])
  app.route({
    method: operation.method,
    url: operation.path,
    bodyLimit: bounds.maxBytes,
    // Before the body is read: the memory and the time that bodies take are bounded, and tenants take turns for them.
    preParsing: async (request, reply) => {
      if (!hasBody(request)) return
      const declared = Number(request.headers['content-length'] ?? bounds.maxBytes)
      if (declared > bounds.maxBytes) throw bodyTooLarge(bounds.maxBytes)
      const bodies = declared > smallBody ? largeBodies : smallBodies
      request.release = await bodies.acquire(request.caller!.tenant)
      if (reply.raw.closed) request.release()
      else reply.raw.once('close', request.release)
    },
    onRequest: (request, _, done) => {
      const settle = (caller: Caller) => {
        request.caller = caller
        done()
      }
      try {
        const caller = callerOf(request, operation, authenticator)
        if (caller instanceof Promise) caller.then(settle, done)
        else settle(caller)
      } catch (error) {
        done(error as Error)
      }
    },
    onResponse: (_, reply, done) => {
      services.metrics.node.requestAnswered(operationId, reply.statusCode, reply.elapsedTime / 1_000)
      done()
    },
    handler: async (request, reply) => {
      check(request)
      const asked = new Asked(request, reply, authenticator.tokens !== false)
      const answer = () => route.answer(asked, services)
      const isBounded = takesTurns(operation, request)
      // The body has been read, and a long poll may wait for a minute: held slots would keep heartbeats out.
      if (!isBounded) request.release()
      const taken = isBounded ? limiter.run(asked.caller.tenant, answer) : answer()
      const answered = await taken
      request.release()
      if (answered.stream) {
        const mayGoOn = async () => operation.scope && authenticator.authenticate(request.headers, operation.scope)
        watchStream(reply.raw, { mayGoOn, end: () => asked.end() })
      }
      return send(reply, mayRead(operation, asked.caller) ? answered : withoutData(answered))
    },
  })
}

/** Where no token is needed, one with the scope is told more, and one without it what everybody is. */
function callerOf(
  { headers }: FastifyRequest,
  { scope, platform, moreWith }: ApiOperation,
  authenticator: Authenticator,
): Caller | Promise<Caller> {
  if (scope !== null) {
    const caller = authenticator.authenticate(headers, scope)
    if (!platform) return caller
    return caller instanceof Promise ? caller.then(ofPlatform) : ofPlatform(caller)
  }
  const hasToken = headers.authorization !== undefined || authenticator.tokens === false
  if (moreWith === undefined || !hasToken) return nobody
  return Promise.try(() => authenticator.authenticate(headers, moreWith)).catch((error: unknown) => {
    if (error instanceof CarillonError && error.code === 'SCOPE_MISSING') return nobody
    throw error
  })
}

function ofPlatform(caller: Caller): Caller {
  if (caller.platform) return caller
  throw platformOnly()
}

interface TenantLimiters {
  heavy: TenantLimiter
  light: TenantLimiter
  smallBodies: TenantLimiter
  largeBodies: TenantLimiter
}

const smallBody = 1024 * 1024
function nothing(): void {}

/** No legitimate body is nested deeper or has more values. */
function boundsOf({ bodyLimitBytes = 64 * 1024 }: ApiOperation): BodyBounds {
  return { maxBytes: bodyLimitBytes, maxDepth: 1_000, maxValues: 1_000_000 }
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Long polls would hold a slot while they wait; reports of workers are batched anyway. */
function takesTurns({ scope }: ApiOperation, { query }: FastifyRequest): boolean {
  return scope !== null && scope !== 'work' && (query as { waitSec?: number }).waitSec === undefined
}

/** Made once: to make one for each abort costs more than the abort. */
const clientGone = new Error('the client is gone')

/** What a route is given. The signal is made when it is asked for: most routes answer without, and an abort is not cheap. */
class Asked {
  readonly params: never
  readonly query: never
  readonly headers: never
  readonly body: never
  readonly caller: Caller
  readonly auth: boolean
  readonly rawBody: string
  readonly #reply: FastifyReply
  #gone: AbortController | null = null

  constructor(request: FastifyRequest, reply: FastifyReply, auth: boolean) {
    this.auth = auth
    this.params = request.params as never
    this.query = request.query as never
    this.headers = request.headers as never
    this.body = request.body as never
    this.caller = request.caller!
    this.rawBody = request.rawBody
    this.#reply = reply
  }

  get signal(): AbortSignal {
    if (this.#gone === null) {
      const gone = new AbortController()
      this.#gone = gone
      const { raw } = this.#reply
      const onClose = () => {
        // Closed after its answer: no client was lost.
        if (!raw.writableFinished) gone.abort(clientGone)
      }
      if (raw.closed) onClose()
      else raw.once('close', onClose)
    }
    return this.#gone.signal
  }

  end(): void {
    this.#gone?.abort()
  }
}

function send(reply: FastifyReply, { status, body, text, stream, headers }: Reply<unknown>): FastifyReply {
  reply.code(status)
  if (headers) reply.headers(headers)
  if (stream) return reply.send(Readable.from(stream))
  if (text !== undefined) {
    if (!reply.hasHeader('content-type')) reply.header('content-type', 'application/json; charset=utf-8')
    return reply.send(text)
  }
  if (body === undefined) return reply.send()
  return reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(body))
}

function sendProblem(thrown: unknown, request: FastifyRequest, reply: FastifyReply, logger: Logger): FastifyReply {
  const error = requestError(thrown)
  reply.headers(everyAnswer)
  if (error.status >= 500) {
    logger.error(
      { err: error.cause ?? error, requestId: request.id, method: request.method, url: request.url },
      'a request failed',
    )
  }
  if (error.status === 503 || error.status === 429) reply.header('retry-after', retryAfter(error))
  // The rest of the body is not waited for.
  if (error.status === 413) reply.header('connection', 'close')
  if (error.status === 401) reply.header('www-authenticate', 'Bearer realm="carillon"')
  return reply
    .code(error.status)
    .header('content-type', problemType)
    .send(JSON.stringify(problemOf(error, request.id)))
}

/** In whole seconds. */
function retryAfter({ retryAfterMs = 0 }: CarillonError): string {
  return String(Math.max(1, Math.ceil(retryAfterMs / 1_000)))
}

/** Empty is no body. Prototypes are never taken from a body: it is only copied. */
function parseJson(app: FastifyInstance, bounds: BodyBounds, opaque: readonly string[]): void {
  const read = async (request: FastifyRequest, stream: Readable) => {
    const { text, value } = await readBody(stream, bounds, opaque)
    if (request.headers['idempotency-key'] !== undefined) request.rawBody = text
    return value
  }
  app.addContentTypeParser(['application/json', 'application/merge-patch+json'], read)
}

/**
 * `/v1/executions/cancel` is an address of its own: for its other methods it is not an execution called `cancel`. Where a job's key may
 * stand, any name may be meant: `GET /v1/jobs/batch` is the job with the key `batch`.
 */
function refuseOtherMethods(app: FastifyInstance, options: AppOptions): void {
  const declared = Object.values(options.routes).map(({ operation }) => operation)
  for (const path of new Set(declared.map(({ path }) => path).filter((path) => !path.includes(':')))) {
    const own = new Set(declared.filter((operation) => operation.path === path).map(({ method }) => method))
    const others = declared.filter(({ method, path: other }) => !own.has(method) && isShadowed(other, path))
    for (const method of new Set(others.map((operation) => operation.method))) {
      app.route({ method, url: path, handler: (request, reply) => refuseAddress(request, reply, options) })
    }
  }
}

/** Whether a fixed address stands before this one for all methods. */
function isShadowed(pattern: string, path: string): boolean {
  return matches(pattern, path) && !pattern.includes(':jobId')
}

function matches(pattern: string, path: string): boolean {
  return new RegExp(`^${pattern.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`).test(path)
}

/** What no operation answers may be a page. */
async function dashboardAsset({ method, url, headers }: FastifyRequest, dashboard?: Dashboard): Promise<Asset | null> {
  if (method !== 'GET' || dashboard === undefined) return null
  const path = url.split('?')[0]!
  return dashboard.find(path, headers.accept, String(headers['accept-encoding'] ?? ''))
}

/** There is nothing at the address, or not for this method. */
function refuseAddress(request: FastifyRequest, reply: FastifyReply, { routes, logger }: AppOptions): FastifyReply {
  const allowed = methodsAt(routes, request.url)
  if (allowed.length === 0) return sendProblem(nothingThere(request), request, reply, logger)
  void reply.header('allow', allowed.join(', '))
  return sendProblem(wrongMethod(request, allowed), request, reply, logger)
}

function methodsAt(routes: AppOptions['routes'], url: string): string[] {
  const path = url.split('?')[0]!.replace(/(?<=.)\/$/, '')
  const declared = Object.values(routes).map(({ operation }) => operation)
  const isFixed = declared.some((operation) => operation.path === path)
  const there = declared.filter(
    (operation) =>
      operation.path === path || (matches(operation.path, path) && !(isFixed && isShadowed(operation.path, path))),
  )
  return [...new Set(there.map(({ method }) => method))]
}

function wrongMethod({ method }: FastifyRequest, allowed: string[]): CarillonError {
  return new CarillonError('METHOD_NOT_ALLOWED', {
    message: `${method} is not allowed here`,
    hint: `Use ${allowed.join(' or ')}`,
  })
}

function cutOff(): CarillonError {
  return new CarillonError('BODY_MALFORMED', {
    message: 'the body ended before it was complete',
    hint: 'Send it again',
  })
}

function nothingThere({ method, url }: FastifyRequest): CarillonError {
  const where = url.length > 200 ? `${url.slice(0, 200)}…` : url
  return new CarillonError('ROUTE_NOT_FOUND', { message: `there is no ${method} ${where}`, hint: 'See /docs' })
}
