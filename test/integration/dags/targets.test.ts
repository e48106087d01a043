/** Steps with built-in targets: a program, a function and requests, each given the results of those before it. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, createClient } from '@carillon/sdk'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestServer, testServer } from '../../../packages/server/src/targets/http/http-target.test-support.ts'
import {
  type LambdaEndpoint,
  lambdaEndpoint,
} from '../../../packages/server/src/targets/lambda/lambda-endpoint.test-support.ts'
import { promptTimes } from '../../support/carillon.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'

const functionArn = 'arn:aws:lambda:eu-west-1:123456789012:function:count'
let home: string
let server: TestServer
let endpoint: LambdaEndpoint
let node: HttpNode
let client: Client

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'carillon-steps-'))
  const list = join(home, 'list')
  const script = 'cat >&2; printf \'{"step":"%s","run":"%s","files":["a","b"],"id":9007199254740993}\\n\''
  await writeFile(list, `#!/bin/sh\n${script} "$CARILLON_STEP" "$CARILLON_RUN_ID"\n`)
  await chmod(list, 0o755)
  server = await testServer(({ body }, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  })
  Object.assign(process.env, { STEPS_LAMBDA_ID: 'AKIDTEST', STEPS_LAMBDA_KEY: 'a-key' })
  endpoint = await lambdaEndpoint({ AKIDTEST: 'a-key' }, (_, response) => response.writeHead(200).end('2'))
  const credentials = { accessKeyId: 'env:STEPS_LAMBDA_ID', secretAccessKey: 'env:STEPS_LAMBDA_KEY' }
  const lambda = { functions: [functionArn], credentials, endpoint: endpoint.url }
  node = await httpNode({ engine: promptTimes, targets: { shell: { list }, allow: ['127.0.0.1'], lambda } })
  client = createClient({ urls: [node.url] })
})
afterAll(async () => {
  await client?.close()
  await node?.[Symbol.asyncDispose]()
  await endpoint?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
  await rm(home, { recursive: true })
  delete process.env.STEPS_LAMBDA_ID
  delete process.env.STEPS_LAMBDA_KEY
})

it('are given the results of the steps before them, to the letter, and their names in the run', async () => {
  const to = (path: string) => ({ http: { url: `${server.url}/${path}` } })
  const { runId } = await client.dagRuns.start({
    payload: { day: 'monday' },
    steps: [
      { name: 'list', target: { shell: { command: 'list' } } },
      { name: 'load', target: to('load'), dependsOn: ['list'], forEach: 'results.list.value.files' },
      { name: 'count', target: { lambda: { functionArn } }, dependsOn: ['list'] },
      { name: 'report', target: to('report'), dependsOn: ['list', 'count'] },
      { name: 'tell', target: to('tell'), dependsOn: ['report'], payload: { text: 'done' } },
    ],
  })
  const run = await client.dagRuns.wait(runId, { waitMs: 60_000 })
  expect(run.state).toBe('SUCCEEDED')
  const request = (path: string) => server.received.find(({ url }) => url === `/${path}`)!

  const stepOf = (name: string) => run.steps.find((step) => step.name === name)!
  const { lines } = await client.executions.logs(stepOf('list').executionId)
  const given = lines.find(({ text }) => text.includes('"runId"'))!
  expect(JSON.parse(given.text)).toEqual({
    ...{ runId, step: 'list', payload: { day: 'monday' }, results: {}, states: {} },
  })

  expect(request('report').headers).toMatchObject({ 'carillon-run-id': runId, 'carillon-step': 'report' })
  expect(request('report').body).toContain('"id":9007199254740993')
  expect(JSON.parse(request('report').body)).toMatchObject({
    ...{ runId, step: 'report', payload: { day: 'monday' } },
    results: { list: { value: { step: 'list', run: runId } }, count: { status: 200, body: 2 } },
    states: { list: 'SUCCEEDED', count: 'SUCCEEDED' },
  })
  expect(endpoint.invoked[0]!.context).toMatchObject({ custom: { runId, step: 'count' } })
  expect(JSON.parse(endpoint.invoked[0]!.body)).toMatchObject({ step: 'count', results: { list: { exitCode: 0 } } })
  expect(request('tell')).toMatchObject({ body: '{"text":"done"}', headers: { 'carillon-step': 'tell' } })

  const items = server.received.filter(({ url }) => url === '/load').toSorted((a, b) => (a.body < b.body ? -1 : 1))
  expect(items.map(({ body }) => body)).toEqual(['"a"', '"b"'])
  expect(items.map(({ headers }) => [headers['carillon-step'], headers['carillon-item-index']])).toEqual([
    ['load.0', '0'],
    ['load.1', '1'],
  ])
  expect(items[0]!.headers['carillon-run-id']).toBe(stepOf('load').run!.runId)
})
