/** Lambda targets as they are asked for over HTTP. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  type LambdaEndpoint,
  lambdaEndpoint,
} from '../../../packages/server/src/targets/lambda/lambda-endpoint.test-support.ts'
import { quickTimes } from '../../support/carillon.ts'
import { ask, type HttpNode, httpNode } from '../../support/http-node.ts'

const account = 'arn:aws:lambda:eu-west-1:123456789012:function'
let endpoint: LambdaEndpoint
let node: HttpNode

beforeAll(async () => {
  Object.assign(process.env, { SERVED_LAMBDA_ID: 'AKIDTEST', SERVED_LAMBDA_KEY: 'a-key' })
  endpoint = await lambdaEndpoint({ AKIDTEST: 'a-key' }, ({ functionArn, body }, response) => {
    const failing = functionArn.endsWith(':orders-fail')
    response.writeHead(200, failing ? { 'x-amz-function-error': 'Unhandled' } : {})
    response.end(failing ? '{"errorType":"OutOfStock","errorMessage":"no stock"}' : `{"got":${body}}`)
  })
  const credentials = { accessKeyId: 'env:SERVED_LAMBDA_ID', secretAccessKey: 'env:SERVED_LAMBDA_KEY' }
  const lambda = { functions: [`${account}:orders-*`], credentials, endpoint: endpoint.url }
  node = await httpNode({ engine: quickTimes, targets: { lambda } })
})
afterAll(async () => {
  await node[Symbol.asyncDispose]()
  await endpoint[Symbol.asyncDispose]()
  delete process.env.SERVED_LAMBDA_ID
  delete process.env.SERVED_LAMBDA_KEY
})

const ended = async (id: string) => (await node.ask(`GET /v1/executions/${id}?waitSec=20`)).body

it('a job is created, shown as it was asked for, and runs; numbers stay as they were written', async () => {
  const target = { lambda: { functionArn: `${account}:orders-close`, invocationType: 'RequestResponse' } }
  const text = `{"type":"ONE_SHOT","target":${JSON.stringify(target)},"payload":{"id":9007199254740993}}`
  const headers = { 'content-type': 'application/json' }
  const created = await fetch(`${node.url}/v1/jobs`, { method: 'POST', headers, body: text })
  const { jobId, ...job } = (await created.json()) as { jobId: string; target: unknown }
  expect([created.status, job.target]).toEqual([201, target])
  expect(await ended(jobId)).toMatchObject({ state: 'SUCCEEDED', result: { status: 200 } })
  const shown = await (await fetch(`${node.url}/v1/executions/${jobId}`)).text()
  expect(shown).toContain('"body":{"got":{"id":9007199254740993}}')
  const { fence } = await ended(jobId)
  expect(endpoint.invoked.at(-1)).toMatchObject({
    body: '{"id":9007199254740993}',
    context: { custom: { executionId: jobId, fence: `${fence}` } },
  })
})

it('a function’s own errors can be named as not retryable', async () => {
  const target = { lambda: { functionArn: `${account}:orders-fail` } }
  const retryPolicy = { maxAttempts: 5, nonRetryableErrors: ['OutOfStock'] }
  const { jobId } = (await node.ask('POST /v1/jobs', { type: 'ONE_SHOT', target, retryPolicy })).body
  expect(await ended(jobId)).toMatchObject({
    ...{ state: 'DEAD', attempt: 1, error: { name: 'OutOfStock', message: 'no stock' } },
  })
})

it.each<[string, object, string, string]>([
  ['another function', { lambda: { functionArn: `${account}:x` } }, 'TARGET_NOT_ALLOWED', '/target/lambda/functionArn'],
  ['no ARN', { lambda: { functionArn: 'orders-close' } }, 'VALIDATION', '/target/lambda/functionArn'],
  ['a topic, for which there is no cluster', { kafka: { topic: 'orders' } }, 'TARGET_NOT_ALLOWED', '/target/kafka'],
])('a job is refused for %s', async (_, target, code, pointer) => {
  const { status, body } = await node.ask('POST /v1/jobs', { type: 'ONE_SHOT', target })
  expect([status, body.code, body.errors?.[0]?.pointer]).toEqual([422, code, pointer])
})

it('explain says if no node runs such targets any more', async () => {
  const target = { lambda: { functionArn: `${account}:orders-later` } }
  const job = { type: 'CRON', schedule: '0 3 1 1 *', target }
  const { jobId } = (await node.ask('POST /v1/jobs', job)).body
  const other = await node.another({ targets: {} })
  await node.node.stop()
  const { body } = await ask(other.url, `POST /v1/jobs/${jobId}/trigger`)
  const explained = await ask(other.url, `GET /v1/executions/${body.executionId}/explain`)
  expect(explained.body.reasons).toMatchObject([
    { code: 'NO_LIVE_WORKER', message: 'no live node runs Lambda targets' },
  ])
})
