/**
 * The Lambda target: one signed Invoke request for one attempt, with the rights of the operator. Keys exist here only while a
 * request is made, and nothing that leaves this file holds one.
 */
import { type BuiltInTarget, type JsonText, limits } from '@carillon/contract'
import { type HandlerContext, PermanentError } from '@carillon/sdk'
import { Agent, type Dispatcher, request } from 'undici'
import type { LambdaConfig } from '../../config/lambda-target-config.ts'
import type { SecretRefs } from '../../config/secret-refs.ts'
import { parseFunctionArn } from '../../domain/function-arn.ts'
import { monotonicMs } from '../../lib/clock.ts'
import { givenTo } from '../given.ts'
import type { HttpResult } from '../http/answer.ts'
import { type Answer, readText } from '../http/exchange.ts'
import { failureText } from '../http/failure-text.ts'
import { checkAgain, resolveSecret } from '../operator-check.ts'
import { Redaction } from '../redaction.ts'
import { TargetFailed } from '../target-failed.ts'
import { judgeInvocation } from './answer.ts'
import { clientContext, executionFacts } from './client-context.ts'
import type { LambdaTarget } from './lambda-rules.ts'
import { type AwsKeys, encodeStrictly, signRequest } from './signature.ts'

export interface LambdaTargetOptions {
  rules: { check(target: BuiltInTarget, tenant: string): void }
  config: LambdaConfig
  secrets: SecretRefs
  dispatcher: Dispatcher
  /** How long a request may take, whatever the job says. */
  maxRequestSec: number
}

const connectTimeoutMs = 10_000

/** Connections to the operator's endpoint or AWS's own: jobs choose neither. */
export function lambdaAgent(): Agent {
  return new Agent({ allowH2: false, headersTimeout: 0, bodyTimeout: 0, connect: { timeout: connectTimeoutMs } })
}

export class LambdaTargetRunner {
  readonly #options: LambdaTargetOptions

  constructor(options: LambdaTargetOptions) {
    this.#options = options
  }

  async run(ctx: HandlerContext): Promise<HttpResult | JsonText> {
    const target = (ctx.target as { lambda?: LambdaTarget } | null)?.lambda
    if (!target) throw new PermanentError('the execution has no Lambda target')
    checkAgain(this.#options.rules, { target: { lambda: target }, tenant: ctx.tenant, elsewhere: true })
    ctx.signal.throwIfAborted()
    const keys = await this.#keys()
    const redaction = new Redaction([keys.secretAccessKey, ...(keys.sessionToken ? [keys.sessionToken] : [])])
    const began = monotonicMs()
    const say = (what: string) =>
      ctx.log(redaction.clean(`${target.functionArn}: ${what} after ${Math.round(monotonicMs() - began)} ms`))
    const answer = await this.#invoke(target, ctx, { keys, say })
    say(`${answer.status} (request ${answer.headers['x-amzn-requestid'] ?? 'unknown'})`)
    return judgeInvocation({ ...answer, text: redaction.cleanAnswer(answer) }, ctx.now().getTime())
  }

  async #invoke(
    target: LambdaTarget,
    ctx: HandlerContext,
    { keys, say }: { keys: AwsKeys; say: (what: string) => void },
  ): Promise<Answer> {
    const { config, dispatcher, maxRequestSec } = this.#options
    const { region, host } = parseFunctionArn(target.functionArn)!
    const endpoint = config.endpoint ?? new URL(`https://${host}`)
    const path = `/2015-03-31/functions/${encodeStrictly(target.functionArn)}/invocations`
    const body = JSON.stringify(
      target.envelope ? { carillon: executionFacts(ctx), payload: givenTo(ctx) } : (givenTo(ctx) ?? null),
    )
    const headers = {
      'content-type': 'application/json',
      'x-amz-invocation-type': target.invocationType ?? 'RequestResponse',
      'x-amz-client-context': clientContext(ctx),
    }
    const signed = signRequest(
      { method: 'POST', host: endpoint.host, path, headers, body, region, service: 'lambda', now: ctx.now() },
      keys,
    )
    const tooLong = AbortSignal.timeout(maxRequestSec * 1_000)
    try {
      const answer = await request(new URL(path, endpoint), {
        ...{ method: 'POST', body, dispatcher, signal: AbortSignal.any([ctx.signal, tooLong]) },
        headers: { ...signed, 'user-agent': 'Carillon' },
      })
      return {
        status: answer.statusCode,
        headers: answer.headers,
        ...(await readText(answer.body, limits.resultBytes)),
      }
    } catch (error) {
      ctx.signal.throwIfAborted()
      const message = tooLong.aborted
        ? `no answer within ${maxRequestSec} s, the longest this node waits`
        : failureText(error, endpoint)
      say(message)
      throw new TargetFailed(message)
    }
  }

  /** Looked up for every request: temporary ones are replaced while a node runs. */
  async #keys(): Promise<AwsKeys> {
    const { config, secrets } = this.#options
    const { accessKeyId, secretAccessKey, sessionToken } = config.credentials
    const read = (ref: string) => resolveSecret(secrets, ref, { trusted: true })
    return {
      accessKeyId: await read(accessKeyId),
      secretAccessKey: await read(secretAccessKey),
      ...(sessionToken !== undefined && { sessionToken: await read(sessionToken) }),
    }
  }
}
