/**
 * The HTTP target: one request for one attempt. It is an ordinary handler: it returns the result, or throws what the retry
 * policy goes by. Secrets exist here only while the request is made, and nothing that leaves this file holds one.
 */
import { type JsonText, limits, type WireJobInput } from '@carillon/contract'
import { Deferred, type HandlerContext, PermanentError, RetryLater, signWebhook } from '@carillon/sdk'
import type { Dispatcher } from 'undici'
import type { SecretRefs } from '../../config/secret-refs.ts'
import { monotonicMs } from '../../lib/clock.ts'
import { executionHeaders } from '../execution-headers.ts'
import { givenTo } from '../given.ts'
import { checkAgain, resolveSecret } from '../operator-check.ts'
import { TargetFailed } from '../target-failed.ts'
import { type HttpResult, judge } from './answer.ts'
import { exchange, type Outgoing } from './exchange.ts'
import { failureText } from './failure-text.ts'
import { canBeHeader, type HttpTarget } from './header-rules.ts'
import { Redaction } from './redaction.ts'
import type { UrlRules } from './url-rules.ts'

export interface HttpTargetOptions {
  rules: { check(target: Pick<WireJobInput['target'], 'http'>): void; urls: UrlRules }
  secrets: SecretRefs
  /** References to the keys for jobs that name none. */
  signWith: readonly string[]
  tokens: { make(executionId: string, fence: number): Promise<string> }
  dispatcher: Dispatcher
  /** How long a request may take, whatever the job says. */
  maxRequestSec: number
}

export class HttpTargetRunner {
  readonly #options: HttpTargetOptions

  constructor(options: HttpTargetOptions) {
    this.#options = options
  }

  async run(ctx: HandlerContext): Promise<HttpResult | JsonText> {
    const target = (ctx.target as { http?: HttpTarget } | null)?.http
    if (!target) throw new PermanentError('the execution has no HTTP target')
    checkAgain(this.#options.rules, { http: target })
    const secrets: string[] = []
    const outgoing = await this.#outgoing(target, ctx, secrets)
    const redaction = new Redaction(secrets)
    const { origin, pathname } = outgoing.url
    const began = monotonicMs()
    const tooLong = AbortSignal.timeout(this.#options.maxRequestSec * 1_000)
    const say = (what: string) => {
      const ms = Math.round(monotonicMs() - began)
      ctx.log(redaction.clean(`${outgoing.method} ${origin}${pathname}: ${what} after ${ms} ms`))
    }
    try {
      const { dispatcher, rules } = this.#options
      const signal = AbortSignal.any([ctx.signal, tooLong])
      const answer = { dispatcher, rules: rules.urls, signal, maxBytes: limits.resultBytes }
      const incoming = await exchange(outgoing, answer)
      say(`${incoming.status}`)
      return judge({ ...incoming, text: redaction.clean(incoming.text) }, ctx.now().getTime())
    } catch (error) {
      if (error instanceof Deferred || error instanceof PermanentError || error instanceof RetryLater) throw error
      if (error instanceof TargetFailed) throw error
      ctx.signal.throwIfAborted()
      const message = tooLong.aborted
        ? `no answer within ${this.#options.maxRequestSec} s, the longest this node waits`
        : failureText(error, outgoing.url)
      say(message)
      throw new TargetFailed(redaction.clean(message))
    }
  }

  /** Puts every secret it uses into `secrets`. */
  async #outgoing(target: HttpTarget, ctx: HandlerContext, secrets: string[]): Promise<Outgoing> {
    const { method = 'POST' } = target
    const bare = ctx.payload === null && (method === 'GET' || method === 'DELETE')
    const body = bare ? null : JSON.stringify(givenTo(ctx))
    const token = await this.#options.tokens.make(ctx.executionId, ctx.fence)
    secrets.push(token)
    return {
      method,
      url: new URL(target.url),
      body,
      headers: {
        'user-agent': 'Carillon',
        ...(body !== null && { 'content-type': 'application/json' }),
        ...executionHeaders(ctx),
      },
      boundHeaders: {
        ...(await this.#ownHeaders(target, secrets)),
        ...(await this.#signature(target, ctx, body ?? '', secrets)),
        'carillon-token': token,
      },
    }
  }

  async #ownHeaders(target: HttpTarget, secrets: string[]): Promise<Record<string, string>> {
    const headers: Record<string, string> = {}
    for (const [name, value] of Object.entries(target.headers ?? {})) {
      const text = typeof value === 'string' ? value : await this.#secret(value.secretRef, secrets)
      if (!canBeHeader(text)) throw new TargetFailed(`the value of ${name} has characters that a header cannot hold`)
      headers[name.toLowerCase()] = text
    }
    return headers
  }

  async #signature(target: HttpTarget, ctx: HandlerContext, body: string, secrets: string[]) {
    const { signWith } = this.#options
    const own = target.signWith?.map(({ secretRef }) => secretRef)
    const keys: string[] = []
    for (const ref of own ?? signWith) keys.push(await this.#secret(ref, secrets, { trusted: own === undefined }))
    if (keys.length === 0) return {}
    try {
      return signWebhook({ secrets: keys, id: ctx.executionId, timestamp: ctx.now().getTime() / 1_000, body })
    } catch (error) {
      throw new TargetFailed(`the request cannot be signed: ${(error as Error).message}`)
    }
  }

  async #secret(ref: string, secrets: string[], options?: { trusted?: boolean }): Promise<string> {
    const value = await resolveSecret(this.#options.secrets, ref, options)
    secrets.push(value)
    return value
  }
}
