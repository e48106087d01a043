/** Built-in targets as they are asked for over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestServer, testServer } from '../../../packages/server/src/targets/http/http-target.test-support.ts'
import { quickTimes } from '../../support/carillon.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'

let server: TestServer
let node: HttpNode

beforeAll(async () => {
  process.env.SERVED_SECRET_KEY = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  server = await testServer(({ url }, response) => {
    response.writeHead(url === '/later' ? 202 : 200, { 'content-type': 'application/json' }).end('{"ok":true}')
  })
  const targets = { allow: ['127.0.0.1'], secrets: ['env:SERVED_SECRET_*'], shell: { list: '/bin/ls' } }
  node = await httpNode({ engine: quickTimes, targets })
})
afterAll(async () => {
  await node[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  delete process.env.SERVED_SECRET_KEY
})

const ended = (id: string) => node.ask(`GET /v1/executions/${id}?waitSec=20`)

describe('a job with an HTTP target', () => {
  it('is created, shown as it was asked for, and runs', async () => {
    const target = {
      http: {
        url: `${server.url}/now`,
        method: 'PUT',
        headers: { 'X-Key': { secretRef: 'env:SERVED_SECRET_KEY' } },
        signWith: [{ secretRef: 'env:SERVED_SECRET_KEY' }],
      },
    }
    const job = { type: 'CRON', schedule: '0 3 1 1 *', target, payload: { a: 1 } }
    const created = await node.ask('POST /v1/jobs', job)
    expect(created).toMatchObject({ status: 201, body: { target, payload: { a: 1 } } })
    expect((await node.ask(`GET /v1/jobs/${created.body.jobId}`)).body.target).toEqual(target)
    const triggered = await node.ask(`POST /v1/jobs/${created.body.jobId}/trigger`)
    const execution = (await ended(triggered.body.executionId)).body
    expect(execution).toMatchObject({ state: 'SUCCEEDED', result: { status: 200, body: { ok: true } } })
    expect(server.received.find(({ url }) => url === '/now')).toMatchObject({ method: 'PUT', body: '{"a":1}' })
  })

  it('may answer later', async () => {
    const job = { type: 'ONE_SHOT', target: { http: { url: `${server.url}/later` } } }
    const executionId = (await node.ask('POST /v1/jobs', job)).body.jobId
    const timeline = async () =>
      (await node.ask(`GET /v1/executions/${executionId}`)).body.timeline.map(({ to }: { to: string }) => to)
    await until(async () => (await timeline()).at(-1) === 'DEFERRED')
    const { reasons } = (await node.ask(`GET /v1/executions/${executionId}/explain`)).body
    expect(reasons).toMatchObject([{ code: 'DEFERRED' }])
    const { headers } = server.received.findLast(({ headers }) => headers['carillon-execution-id'] === executionId)!
    const token = { 'carillon-token': headers['carillon-token'] as string }
    const done = { outcome: 'SUCCEEDED', result: [1] }
    expect(await node.ask(`POST /v1/executions/${executionId}/complete`, done, token)).toMatchObject({ status: 200 })
    expect((await ended(executionId)).body).toMatchObject({ state: 'SUCCEEDED', result: [1] })
    expect(await timeline()).toEqual(['PENDING', 'RUNNING', 'DEFERRED', 'SUCCEEDED'])
  })

  it.each<[string, object, string, string]>([
    ['a private address', { http: { url: 'http://10.0.0.1/' } }, 'TARGET_NOT_ALLOWED', '/target/http/url'],
    [
      'a header of ours',
      { http: { url: 'https://a.example/', headers: { 'Carillon-Fence': '1' } } },
      'VALIDATION',
      '/target/http/headers/Carillon-Fence',
    ],
    [
      'a secret',
      { http: { url: 'https://a.example/', headers: { A: { secretRef: 'env:PATH' } } } },
      'TARGET_NOT_ALLOWED',
      '/target/http/headers/A',
    ],
    ['another URL', { http: { url: { secretRef: 'env:PATH' } } }, 'TARGET_NOT_ALLOWED', '/target/http/url'],
    ['no URL', { http: { url: 7 } }, 'VALIDATION', '/target/http/url'],
    ['no reference', { http: { url: { secretRef: 'PATH' } } }, 'VALIDATION', '/target/http/url'],
    ['a reference with more', { http: { url: { secretRef: 'env:A', or: 'x' } } }, 'VALIDATION', '/target/http/url'],
    [
      'no place in the body',
      { http: { url: 'https://a.example/', bodySecrets: { token: { secretRef: 'env:SERVED_SECRET_KEY' } } } },
      'VALIDATION',
      '/target/http/bodySecrets/token',
    ],
    [
      'a secret in plain text',
      { http: { url: 'https://a.example/', bodySecrets: { '/token': 'secret' } } },
      'VALIDATION',
      '/target/http/bodySecrets/~1token',
    ],
    [
      'a variable of the system',
      { shell: { command: 'list', env: { LD_PRELOAD: { secretRef: 'env:SERVED_SECRET_KEY' } } } },
      'VALIDATION',
      '/target/shell/env/LD_PRELOAD',
    ],
    ['a program', { shell: { command: '/bin/sh' } }, 'TARGET_NOT_ALLOWED', '/target/shell/command'],
    ['two kinds', { http: { url: 'https://a.example/' }, shell: { command: 'list' } }, 'VALIDATION', '/target'],
    ['a pool', { http: { url: 'https://a.example/' }, pool: 'default' }, 'VALIDATION', '/target/pool'],
    ['our own pool', { pool: 'carillon.http', handler: 'x' }, 'VALIDATION', '/target/pool'],
    ['our own handler', { handler: 'carillon.http' }, 'VALIDATION', '/target/handler'],
  ])('is refused for %s, with the place named', async (_, target, code, pointer) => {
    const { status, body } = await node.ask('POST /v1/jobs', { type: 'ONE_SHOT', target })
    expect([status, body.code, body.errors?.[0]?.pointer]).toEqual([422, code, pointer])
  })
})

it('a job with a shell target runs one of the operator’s programs', async () => {
  const job = { type: 'CRON', schedule: '0 3 1 1 *', target: { shell: { command: 'list', args: ['-d', '/'] } } }
  const { jobId } = (await node.ask('POST /v1/jobs', job)).body
  const { executionId } = (await node.ask(`POST /v1/jobs/${jobId}/trigger`)).body
  expect((await ended(executionId)).body).toMatchObject({ state: 'SUCCEEDED', result: { exitCode: 0, stdout: '/\n' } })
})
