/**
 * The HTTP target: one request for one attempt. It is an ordinary handler: it returns the result, or throws what the retry
 * policy goes by. Secrets exist here only while the request is made, and nothing that leaves this file holds one.
 */
import { type BuiltInTarget, type JsonText, limits } from '@carillon/contract'
import { Deferred, type HandlerContext, PermanentError, RetryLater, signWebhook } from '@carillon/sdk'
import type { Dispatcher } from 'undici'
import type { SecretReader, SecretRefs } from '../../config/secret-refs.ts'
import { monotonicMs } from '../../lib/clock.ts'
import { executionHeaders } from '../execution-headers.ts'
import { givenTo } from '../given.ts'
import { checkAgain, resolveSecret } from '../operator-check.ts'
import { partsOfUrl, Redaction } from '../redaction.ts'
import { TargetFailed } from '../target-failed.ts'
import { type HttpResult, judge } from './answer.ts'
import { withSecrets } from './body-secrets.ts'
import { exchange, type Outgoing } from './exchange.ts'
import { failureText } from './failure-text.ts'
import { canBeHeader, type HttpTarget } from './header-rules.ts'
import { parseUrl, type UrlRules, urlRefusal } from './url-rules.ts'

export interface HttpTargetOptions {
  rules: { check(target: BuiltInTarget, tenant: string): void; urls: UrlRules }
  secrets: SecretRefs
  /** References to the keys for jobs that name none. */
  signWith: readonly string[]
  tokens: { make(executionId: string, fence: number): Promise<string> }
  dispatcher: Dispatcher
  /** How long a request may take, whatever the job says. */
  maxRequestSec: number
}

/** Looks a reference of the tenant's up. */
type ReadSecret = (ref: string) => Promise<string>

export class HttpTargetRunner {
  readonly #options: HttpTargetOptions

  constructor(options: HttpTargetOptions) {
    this.#options = options
  }

  async run(ctx: HandlerContext): Promise<HttpResult | JsonText> {
    const target = (ctx.target as { http?: HttpTarget } | null)?.http
    if (!target) throw new PermanentError('the execution has no HTTP target')
    checkAgain(this.#options.rules, { target: { http: target }, tenant: ctx.tenant })
    const secrets: string[] = []
    const outgoing = await this.#outgoing(target, ctx, secrets)
    let redaction = new Redaction(secrets)
    const { origin, pathname } = outgoing.url
    const place = outgoing.urlRef ?? `${origin}${pathname}`
    const began = monotonicMs()
    const tooLong = AbortSignal.timeout(this.#options.maxRequestSec * 1_000)
    const say = (what: string) => {
      const ms = Math.round(monotonicMs() - began)
      ctx.log(redaction.clean(`${outgoing.method} ${place}: ${what} after ${ms} ms`))
    }
    try {
      const { dispatcher, rules } = this.#options
      const signal = AbortSignal.any([ctx.signal, tooLong])
      const answer = { dispatcher, rules: rules.urls, signal, maxBytes: limits.resultBytes }
      const incoming = await exchange(outgoing, answer)
      say(`${incoming.status}`)
      // What a secret URL redirects to is as secret.
      if (outgoing.urlRef !== null) redaction = new Redaction([...secrets, ...incoming.redirects.flatMap(partsOfUrl)])
      return judge({ ...incoming, text: redaction.cleanAnswer(incoming) }, ctx.now().getTime())
    } catch (error) {
      // A redirect may name a host that holds a secret.
      if (error instanceof PermanentError) throw new PermanentError(redaction.clean(error.message))
      if (error instanceof Deferred || error instanceof RetryLater || error instanceof TargetFailed) throw error
      ctx.signal.throwIfAborted()
      const message = tooLong.aborted
        ? `no answer within ${this.#options.maxRequestSec} s, the longest this node waits`
        : failureText(error, { origin, ref: outgoing.urlRef })
      say(message)
      throw new TargetFailed(redaction.clean(message))
    }
  }

  /** Puts every secret it uses into `secrets`. */
  async #outgoing(target: HttpTarget, ctx: HandlerContext, secrets: string[]): Promise<Outgoing> {
    const { method = 'POST', bodySecrets } = target
    const read: ReadSecret = (ref) => this.#secret(ref, secrets, { tenant: ctx.tenant })
    const url = await this.#url(target, read, secrets)
    const boundBody = bodySecrets !== undefined && Object.keys(bodySecrets).length > 0
    const bare = ctx.payload === null && !boundBody && (method === 'GET' || method === 'DELETE')
    const body = bare ? null : JSON.stringify(withSecrets(givenTo(ctx), await valuesOf(bodySecrets ?? {}, read)))
    const token = await this.#options.tokens.make(ctx.executionId, ctx.fence)
    secrets.push(token)
    return {
      method,
      url,
      urlRef: typeof target.url === 'string' ? null : target.url.secretRef,
      body,
      boundBody,
      headers: {
        'user-agent': 'Carillon',
        ...(body !== null && { 'content-type': 'application/json' }),
        ...executionHeaders(ctx),
      },
      boundHeaders: {
        ...(await ownHeaders(target, read)),
        ...(await this.#signature(target, ctx, { body: body ?? '', read, secrets })),
        'carillon-token': token,
      },
    }
  }

  /** One that is a secret is checked here as the URL of another job is when it is created. The operator may mend it: it is tried again. */
  async #url({ url }: HttpTarget, read: ReadSecret, secrets: string[]): Promise<URL> {
    if (typeof url === 'string') return new URL(url)
    const { secretRef } = url
    const parsed = parseUrl(await read(secretRef))
    if (!(parsed instanceof URL)) throw new TargetFailed(`the URL in ${secretRef} ${parsed.discreet}`)
    secrets.push(...partsOfUrl(parsed))
    const refusal = urlRefusal(parsed, this.#options.rules.urls)
    if (refusal) throw new TargetFailed(`the URL in ${secretRef} ${refusal.discreet}`)
    return parsed
  }

  async #signature(
    target: HttpTarget,
    ctx: HandlerContext,
    { body, read, secrets }: { body: string; read: ReadSecret; secrets: string[] },
  ) {
    const own = target.signWith?.map(({ secretRef }) => secretRef)
    const keys: string[] = []
    for (const ref of own ?? this.#options.signWith) {
      keys.push(await (own === undefined ? this.#secret(ref, secrets, { trusted: true }) : read(ref)))
    }
    if (keys.length === 0) return {}
    try {
      return signWebhook({ secrets: keys, id: ctx.executionId, timestamp: ctx.now().getTime() / 1_000, body })
    } catch (error) {
      throw new TargetFailed(`the request cannot be signed: ${(error as Error).message}`)
    }
  }

  async #secret(ref: string, secrets: string[], reader: SecretReader): Promise<string> {
    const value = await resolveSecret(this.#options.secrets, ref, reader)
    secrets.push(value)
    return value
  }
}

async function ownHeaders(target: HttpTarget, read: ReadSecret): Promise<Record<string, string>> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(target.headers ?? {})) {
    const text = typeof value === 'string' ? value : await read(value.secretRef)
    if (!canBeHeader(text)) throw new TargetFailed(`the value of ${name} has characters that a header cannot hold`)
    headers[name.toLowerCase()] = text
  }
  return headers
}

async function valuesOf(
  refs: NonNullable<HttpTarget['bodySecrets']>,
  read: ReadSecret,
): Promise<Record<string, string>> {
  const values: Record<string, string> = {}
  for (const [place, { secretRef }] of Object.entries(refs)) values[place] = await read(secretRef)
  return values
}
