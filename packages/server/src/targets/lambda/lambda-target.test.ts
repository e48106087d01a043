import type { ServerResponse } from 'node:http'
import { JsonText } from '@carillon/contract'
import { type HandlerContext, PermanentError, RetryLater } from '@carillon/sdk'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { LambdaSettings } from '../../config/lambda-target-config.ts'
import { SecretUnavailable } from '../../config/secret-refs.ts'
import { targetConfig } from '../../config/target-config.ts'
import { context } from '../http/http-target.test-support.ts'
import { TargetFailed } from '../target-failed.ts'
import { OperatorRules } from '../target-rules.ts'
import { type Invoked, type LambdaEndpoint, lambdaEndpoint } from './lambda-endpoint.test-support.ts'
import type { LambdaTarget } from './lambda-rules.ts'
import { LambdaTargetRunner, lambdaAgent } from './lambda-target.ts'

const account = 'arn:aws:lambda:eu-west-1:123456789012:function'
const functionArn = `${account}:orders-close`
const dispatcher = lambdaAgent()
let endpoint: LambdaEndpoint
let answer: (invoked: Invoked, response: ServerResponse) => void
const log: string[] = []

beforeAll(async () => {
  Object.assign(process.env, {
    ...{ LAMBDA_TEST_ID: 'AKIDTEST', LAMBDA_TEST_KEY: 'the-secret/key+of-the-test' },
    ...{ LAMBDA_TEST_TOKEN: 'the-session-token//==', LAMBDA_TEST_WRONG: 'another-secret-key' },
  })
  endpoint = await lambdaEndpoint({ AKIDTEST: 'the-secret/key+of-the-test' }, (invoked, response) =>
    answer(invoked, response),
  )
})
beforeEach(() => {
  answer = (_, response) => response.writeHead(200).end('{"ok":true}')
})
afterEach(() => {
  endpoint.invoked.length = 0
  log.length = 0
})
afterAll(async () => {
  for (const name of ['ID', 'KEY', 'TOKEN', 'WRONG']) delete process.env[`LAMBDA_TEST_${name}`]
  await dispatcher.destroy()
  await endpoint[Symbol.asyncDispose]()
})

const credentials = { accessKeyId: 'env:LAMBDA_TEST_ID', secretAccessKey: 'env:LAMBDA_TEST_KEY' }

async function run(
  target: Partial<LambdaTarget> = {},
  more: Partial<HandlerContext> = {},
  settings: Partial<LambdaSettings> & { maxRequestSec?: number } = {},
): Promise<unknown> {
  const { maxRequestSec = 900, ...given } = settings
  const lambda = { functions: [`${account}:orders-*`], credentials, endpoint: endpoint.url, ...given }
  const config = targetConfig({ lambda, maxRequestSec })
  const options = { rules: new OperatorRules(config), config: config.lambda!, secrets: config.secrets, dispatcher }
  const runner = new LambdaTargetRunner({ ...options, maxRequestSec })
  const ctx = { ...context, log: (line: string) => log.push(line), target: { lambda: { functionArn, ...target } } }
  const result = await runner.run({ ...ctx, ...more })
  return result instanceof JsonText ? result.text : result
}

const thrown = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable(),
    (error: Error) => error,
  )

describe('a function', () => {
  it('gets the payload as its event and the execution in its client context, signed', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const result = await run({}, { payload: { a: 'ü', n: JSON.parse('12') }, tenant: 'Bücher AG', traceparent })
    expect(result).toEqual({ status: 200, body: { ok: true } })
    expect(endpoint.invoked).toHaveLength(1)
    const [invoked] = endpoint.invoked
    expect(invoked).toMatchObject({ functionArn, body: '{"a":"ü","n":12}' })
    expect(invoked!.headers['x-amz-invocation-type']).toBe('RequestResponse')
    expect(invoked!.headers['x-amz-security-token']).toBeUndefined()
    expect(invoked!.headers.authorization).toContain('/eu-west-1/lambda/aws4_request')
    expect(invoked!.context.custom).toEqual({
      ...{ executionId: context.executionId, jobId: context.jobId, tenant: 'Bücher AG', attempt: '2', fence: '77' },
      ...{ scheduledFor: '2030-01-01T00:00:00.000Z', traceparent },
    })
    expect(log).toEqual([expect.stringMatching(/^arn:.*:orders-close: 200 \(request unknown\) after \d+ ms$/)])
  })

  it('is called with a session token, and by its alias', async () => {
    const withToken = { credentials: { ...credentials, sessionToken: 'env:LAMBDA_TEST_TOKEN' } }
    await run({ functionArn: `${functionArn}:$LATEST` }, {}, withToken)
    expect(endpoint.invoked[0]).toMatchObject({
      functionArn: `${functionArn}:$LATEST`,
      headers: { 'x-amz-security-token': 'the-session-token//==' },
    })
  })

  it('can be given the execution in its event', async () => {
    answer = (_, response) => response.writeHead(202).end()
    const result = await run({ envelope: true, invocationType: 'Event' }, { payload: [1] })
    expect(result).toEqual({ status: 202, body: null })
    const [{ body, headers }] = endpoint.invoked as [Invoked]
    expect(JSON.parse(body)).toMatchObject({
      carillon: { executionId: context.executionId, fence: '77' },
      payload: [1],
    })
    expect(headers['x-amz-invocation-type']).toBe('Event')
  })

  it('has a client context that AWS accepts, however long the trace is', async () => {
    await run({}, { traceparent: `00-${'a'.repeat(5_000)}` })
    expect(endpoint.invoked[0]!.context.custom).not.toHaveProperty('traceparent')
  })

  it('may answer any JSON: numbers stay as they were written, and no more is kept than of other results', async () => {
    answer = (_, response) => response.end('{"id": 9007199254740993}')
    expect(await run()).toBe('{"status":200,"body":{"id":9007199254740993}}')
    answer = (_, response) => response.end('"text"')
    expect(await run()).toEqual({ status: 200, body: 'text' })
    answer = (_, response) => response.end(JSON.stringify('x'.repeat(1_000_000)))
    expect(await run()).toMatchObject({ status: 200, truncated: true })
  })

  it('that throws fails the attempt with its own error', async () => {
    const failing = { 'x-amz-function-error': 'Unhandled' }
    answer = (_, response) =>
      response.writeHead(200, failing).end('{"errorMessage":"no stock","errorType":"OutOfStock","trace":["…"]}')
    const error = await thrown(run())
    expect(error).toMatchObject({ name: 'OutOfStock', message: 'no stock' })
    expect(error).not.toBeInstanceOf(PermanentError)
    answer = (_, response) => response.writeHead(200, failing).end('killed')
    expect(await thrown(run())).toMatchObject({ name: 'FunctionFailed', message: 'the function failed: killed' })
  })
})

describe('an answer of AWS', () => {
  it.each<[number, string, 'RETRIED' | 'PERMANENT']>([
    [400, 'InvalidRequestContentException', 'PERMANENT'],
    [403, 'AccessDeniedException', 'PERMANENT'],
    [403, 'ExpiredTokenException', 'RETRIED'],
    [403, 'UnrecognizedClientException', 'RETRIED'],
    [404, 'ResourceNotFoundException', 'PERMANENT'],
    [409, 'ResourceConflictException', 'RETRIED'],
    [413, 'RequestTooLargeException', 'PERMANENT'],
    [429, 'TooManyRequestsException', 'RETRIED'],
    [500, 'ServiceException', 'RETRIED'],
    [502, 'EC2ThrottledException', 'RETRIED'],
    [302, '', 'PERMANENT'],
  ])('%i %s is %s', async (status, type, verdict) => {
    answer = (_, response) => response.writeHead(status, { 'x-amzn-errortype': type }).end('{"Message":"because"}')
    const error = await thrown(run())
    expect(error).toBeInstanceOf(verdict === 'RETRIED' ? TargetFailed : PermanentError)
    expect(error.message).toBe(`the target answered ${status}: ${type && `${type}: `}because`)
  })

  it('may say when to come back', async () => {
    answer = (_, response) => response.writeHead(429, { 'retry-after': '7' }).end()
    const error = await thrown(run())
    expect(error).toBeInstanceOf(RetryLater)
    expect(error).toMatchObject({ retryAfterMs: 7_000 })
  })
})

describe('the node’s keys', () => {
  it('that are wrong fail the attempt, which is retried, and are not shown', async () => {
    const wrong = {
      accessKeyId: 'env:LAMBDA_TEST_ID',
      ...{ secretAccessKey: 'env:LAMBDA_TEST_WRONG', sessionToken: 'env:LAMBDA_TEST_TOKEN' },
    }
    const error = await thrown(run({}, {}, { credentials: wrong }))
    expect(error).toBeInstanceOf(TargetFailed)
    expect(error.message).toContain('InvalidSignatureException')
    expect(`${error.message} ${log}`).not.toContain('the-session-token')
    expect(endpoint.invoked).toEqual([])
  })

  it('that are missing may be there at the next attempt', async () => {
    const missing = { ...credentials, sessionToken: 'file:/nowhere/token' }
    const error = await thrown(run({}, {}, { credentials: missing }))
    expect(error).toBeInstanceOf(SecretUnavailable)
    expect(error.message).toBe('file:/nowhere/token cannot be read on this node (ENOENT)')
  })
})

describe('a request', () => {
  it('is not sent for a function that is not on this node’s list; another node may have it', async () => {
    const error = await thrown(run({ functionArn: `${account}:billing` }))
    expect(error).toBeInstanceOf(TargetFailed)
    expect(await thrown(run({ functionArn: 'orders-close' }))).toBeInstanceOf(PermanentError)
    expect(endpoint.invoked).toEqual([])
  })

  it('ends when the attempt is aborted', async () => {
    const controller = new AbortController()
    answer = () => controller.abort(new Error('cancelled'))
    expect(await thrown(run({}, { signal: controller.signal }))).toMatchObject({ message: 'cancelled' })
    expect(await thrown(run({}, { signal: controller.signal }))).toMatchObject({ message: 'cancelled' })
    expect(endpoint.invoked).toHaveLength(1)
  })

  it('ends after the longest time this node waits', async () => {
    answer = () => {}
    const error = await thrown(run({}, {}, { maxRequestSec: 0.2 }))
    expect(error).toBeInstanceOf(TargetFailed)
    expect(error.message).toBe('no answer within 0.2 s, the longest this node waits')
  })

  it('that reaches nothing is retried', async () => {
    const error = await thrown(run({}, {}, { endpoint: 'http://127.0.0.1:1' }))
    expect(error).toBeInstanceOf(TargetFailed)
    expect(error.message).toBe('no answer from http://127.0.0.1:1 (ECONNREFUSED)')
  })
})
