import { Deferred, PermanentError, RetryLater, verifyWebhook } from '@carillon/sdk'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SecretUnavailable } from '../../config/secret-refs.ts'
import type { TargetSettings } from '../../config/target-config.ts'
import { TargetFailed } from '../target-failed.ts'
import { type TestServer, testServer, trial } from './http-target.test-support.ts'

const here = { allow: ['127.0.0.1'] }

describe('a request', () => {
  let server: TestServer
  beforeEach(async () => {
    server = await testServer((_, response) =>
      response.setHeader('content-type', 'application/json').end('{"ok":true}'),
    )
  })
  afterEach(() => server[Symbol.asyncDispose]())

  it('carries the payload, who it is for, and no more', async () => {
    await using http = trial(here)
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    const target = { url: `${server.url}/hook?x=1`, headers: { 'X-Own': 'mine', 'User-Agent': 'me' } }
    const result = await http.run(target, { payload: { a: 'ü' }, tenant: 'Ü %', traceparent })
    expect(result).toEqual({ status: 200, body: { ok: true } })
    const { headers, ...rest } = server.received[0]!
    expect(rest).toEqual({ method: 'POST', url: '/hook?x=1', body: '{"a":"ü"}' })
    expect(headers).toEqual({
      host: `127.0.0.1:${server.port}`,
      connection: 'keep-alive',
      'content-type': 'application/json',
      'content-length': '10',
      'user-agent': 'me',
      'x-own': 'mine',
      'carillon-execution-id': '018cc251-f400-7000-8000-000000000001',
      'carillon-job-id': '018cc251-f400-7000-8000-000000000002',
      'carillon-tenant': '%C3%9C%20%25',
      'carillon-attempt': '2',
      'carillon-fence': '77',
      'carillon-scheduled-for': '2030-01-01T00:00:00.000Z',
      'carillon-token': 'token-for-018cc251-f400-7000-8000-000000000001-77',
      traceparent,
    })
    expect(http.log).toEqual([expect.stringMatching(/^POST http:\/\/127\.0\.0\.1:\d+\/hook: 200 after \d+ ms$/)])
  })

  it.each<['GET' | 'DELETE' | 'PUT', unknown, string]>([
    ['GET', null, ''],
    ['DELETE', null, ''],
    ['DELETE', { a: 1 }, '{"a":1}'],
    ['PUT', null, 'null'],
  ])('by %s with the payload %j has the body %j', async (method, payload, body) => {
    await using http = trial(here)
    await http.run({ url: server.url, method }, { payload, traceparent: 'nonsense' })
    expect(server.received[0]).toMatchObject({ method, body })
    expect(server.received[0]!.headers['content-type']).toBe(body === '' ? undefined : 'application/json')
    expect(server.received[0]!.headers.traceparent).toBeUndefined()
  })

  it('is signed with the job’s keys, both while one is being replaced, over exactly what is sent', async () => {
    process.env.TARGET_TEST_OLD = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    process.env.TARGET_TEST_NEW = 'a plain secret'
    await using http = trial({ ...here, secrets: ['env:TARGET_TEST_*'], signWith: ['env:PATH'] })
    const signWith = [{ secretRef: 'env:TARGET_TEST_OLD' }, { secretRef: 'env:TARGET_TEST_NEW' }]
    await http.run({ url: server.url, signWith }, { payload: { a: 'ü' } })
    await http.run({ url: server.url, signWith, method: 'GET' })
    for (const { headers, body } of server.received) {
      for (const secret of ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'a plain secret']) {
        expect(verifyWebhook({ secrets: [secret], headers, body }).id).toBe(headers['carillon-execution-id'])
      }
      expect(() => verifyWebhook({ secrets: [process.env.PATH!], headers, body })).toThrow('no signature fits')
    }
  })

  it('is signed with the operator’s key if the job names none', async () => {
    process.env.TARGET_TEST_OPERATOR = 'the operator’s'
    await using http = trial({ ...here, signWith: ['env:TARGET_TEST_OPERATOR'] })
    await http.run({ url: server.url })
    const { headers, body } = server.received[0]!
    expect(verifyWebhook({ secrets: ['the operator’s'], headers, body })).toBeTruthy()
  })

  it('waits for a secret that is not there, and names it', async () => {
    await using http = trial({ ...here, secrets: ['env:TARGET_TEST_*'] })
    const target = { url: server.url, headers: { 'X-A': { secretRef: 'env:TARGET_TEST_MISSING' } } }
    await expect(http.run(target)).rejects.toEqual(
      new SecretUnavailable('env:TARGET_TEST_MISSING is not set on this node'),
    )
    process.env.TARGET_TEST_MISSING = 'two\nlines'
    await expect(http.run(target)).rejects.toThrow('the value of X-A has characters that a header cannot hold')
    expect(server.received).toEqual([])
    delete process.env.TARGET_TEST_MISSING
  })

  it('is not made if the operator does not allow it any more', async () => {
    await using http = trial()
    await expect(http.run({ url: server.url })).rejects.toBeInstanceOf(PermanentError)
    await expect(http.run({ url: server.url }, { target: null })).rejects.toThrow('has no HTTP target')
    expect(server.received).toEqual([])
  })

  it('ends when it is aborted', async () => {
    await using silent = await testServer(() => {})
    await using http = trial(here)
    const stopping = new AbortController()
    const running = http.run({ url: silent.url }, { signal: stopping.signal })
    await expect.poll(() => silent.received.length).toBe(1)
    stopping.abort(new Error('stop now'))
    await expect(running).rejects.toThrow('stop now')
  })
})

describe('secrets of a request', () => {
  const tenant = { tenantSecrets: { acme: ['env:TARGET_TEST_*'] } }
  const ref = (name: string) => ({ secretRef: `env:TARGET_TEST_${name}` })
  const failure = (running: Promise<unknown>) =>
    running.then(
      () => expect.unreachable(),
      (error: Error) => error,
    )
  let echo: TestServer
  beforeEach(async () => {
    echo = await testServer(({ url, body }, response) => {
      if (url.startsWith('/away/')) response.writeHead(307, { location: process.env.TARGET_TEST_AWAY }).end()
      else response.writeHead(url.includes('fail') ? 500 : 200).end(JSON.stringify({ url, body }))
    })
  })
  afterEach(async () => {
    await echo[Symbol.asyncDispose]()
    for (const name of Object.keys(process.env)) if (name.startsWith('TARGET_TEST_')) delete process.env[name]
  })

  it('may be its whole URL, of which nothing is shown but the reference', async () => {
    process.env.TARGET_TEST_URL = `${echo.url}/hooks/0123456789abcdef?key=fedcba9876543210`
    await using http = trial({ ...here, ...tenant })
    const { body } = await http.run({ url: ref('URL') })
    expect(echo.received[0]!.url).toBe('/hooks/0123456789abcdef?key=fedcba9876543210')
    expect(body).toEqual({ url: '[secret]', body: 'null' })
    expect(http.log).toEqual([expect.stringMatching(/^POST env:TARGET_TEST_URL: 200 after \d+ ms$/)])
    process.env.TARGET_TEST_URL = `${echo.url}/hooks/fail/0123456789abcdef`
    expect((await failure(http.run({ url: ref('URL') }))).message).toContain('answered 500: {"url":"[secret]"')
    process.env.TARGET_TEST_URL = 'http://127.0.0.1:9/0123456789abcdef'
    const refused = await failure(http.run({ url: ref('URL') }))
    expect(refused).toEqual(new TargetFailed('no answer from env:TARGET_TEST_URL (ECONNREFUSED)'))
  })

  it.each<[string, string, TargetSettings?]>([
    ['http://169.254.169.254/latest/0123456789', 'leads to an address that is link-local'],
    ['http://localhost:8080/0123456789', 'leads to an address that is loopback'],
    ['https://[::ffff:10.0.0.1]/0123456789', 'leads to an address that is private'],
    ['https://example.com:8443/0123456789', 'uses a port that the operator does not allow', { ports: [443] }],
    ['ftp://example.com/0123456789', 'is neither http nor https'],
    ['https://user:0123456789@example.com/', 'has a user name or password'],
    ['0123456789', 'is not a URL'],
  ])('that are the URL %s are checked as any other', async (url, why, settings = {}) => {
    process.env.TARGET_TEST_URL = url
    await using http = trial({ ...tenant, ...settings })
    const error = await failure(http.run({ url: ref('URL') }))
    expect(error).toEqual(new TargetFailed(`the URL in env:TARGET_TEST_URL ${why}`))
    expect(http.log).toEqual([])
  })

  it('that are the URL of a name are checked where they are connected to', async () => {
    process.env.TARGET_TEST_URL = 'http://hidden-name.example/0123456789'
    await using http = trial(tenant, (_, __, callback) => callback(null, [{ address: '10.0.0.1', family: 4 }]))
    expect(await failure(http.run({ url: ref('URL') }))).toEqual(
      new TargetFailed('env:TARGET_TEST_URL leads to an address that is private: the operator does not allow it'),
    )
    expect(http.log.join()).not.toContain('hidden')
  })

  it('are not shown by a redirect to where it may not go', async () => {
    process.env.TARGET_TEST_URL = `${echo.url}/away/0123456789abcdef`
    process.env.TARGET_TEST_AWAY = 'http://10.9.8.7/0123456789abcdef'
    await using http = trial({ ...here, ...tenant })
    const error = await failure(http.run({ url: ref('URL') }))
    expect(error).toBeInstanceOf(PermanentError)
    expect(error.message).toBe('the target leads to an address that is private')
    process.env.TARGET_TEST_KEY = '0123456789abcdef'
    process.env.TARGET_TEST_AWAY = 'http://0123456789abcdef.localhost:1/'
    await using strict = trial({ ...here, ...tenant, allow: ['127.0.0.1'], ports: [echo.port] })
    const target = { url: `${echo.url}/away/`, headers: { 'X-Key': ref('KEY') } }
    expect((await failure(strict.run(target))).message).toBe('the target uses port 1')
    await using named = trial({ ...here, ...tenant }, (_, __, callback) =>
      callback(null, [{ address: '10.0.0.1', family: 4 }]),
    )
    process.env.TARGET_TEST_AWAY = 'http://0123456789abcdef.example/'
    const resolved = await failure(named.run(target))
    expect(resolved.message).toBe(
      '[secret].example resolves to 10.0.0.1, which is private: the operator does not allow it',
    )
  })

  it('may be members of its body, which is signed with them and goes to no other origin', async () => {
    process.env.TARGET_TEST_TOKEN = 'body-token-0123456789'
    process.env.TARGET_TEST_KEY = 'signing-key'
    await using http = trial({ ...here, ...tenant })
    const target = { url: echo.url, bodySecrets: { '/auth/token': ref('TOKEN') }, signWith: [ref('KEY')] }
    const payload = { amount: 1, auth: { user: 'u' }, like: { secretRef: 'env:PATH' } }
    const { body: answered } = await http.run(target, { payload })
    const { headers, body } = echo.received[0]!
    expect(JSON.parse(body)).toEqual({ ...payload, auth: { user: 'u', token: 'body-token-0123456789' } })
    expect(verifyWebhook({ secrets: ['signing-key'], headers, body })).toBeTruthy()
    expect(JSON.stringify(answered)).not.toContain('body-token')
    await http.run({ ...target, method: 'DELETE' })
    expect(echo.received[1]!.body).toBe('{"auth":{"token":"body-token-0123456789"}}')
    expect((await failure(http.run(target, { payload: [1] }))).message).toContain('no member /auth/token')
    await using other = await testServer((_, response) => response.end())
    process.env.TARGET_TEST_AWAY = other.url
    const error = await failure(http.run({ ...target, url: `${echo.url}/away/` }))
    expect(error).toBeInstanceOf(PermanentError)
    expect(error.message).toBe('the target redirects to another origin, where the secrets of its body may not go')
    expect(other.received).toEqual([])
  })

  it.each<[string, object]>([
    ['its URL', { url: ref('URL') }],
    ['a header', { headers: { 'X-A': ref('URL') } }],
    ['its body', { bodySecrets: { '/a': ref('URL') } }],
    ['a key', { signWith: [ref('URL')] }],
  ])('in %s are for their tenant only, and retried while they are missing', async (_, part) => {
    await using http = trial({ ...here, ...tenant })
    const target = { url: echo.url, ...part }
    expect(await failure(http.run(target))).toEqual(
      new SecretUnavailable('env:TARGET_TEST_URL is not set on this node'),
    )
    process.env.TARGET_TEST_URL = `${echo.url}/hooks/0123456789abcdef`
    await http.run(target)
    const error = await failure(http.run(target, { tenant: 'globex' }))
    expect(error).toMatchObject({ name: 'TargetNotAllowed' })
    expect(error).toBeInstanceOf(PermanentError)
    expect(error.message).toContain('env:TARGET_TEST_URL is not allowed')
    expect(echo.received).toHaveLength(1)
  })

  it('are cut off an answer that was cut within them', async () => {
    process.env.TARGET_TEST_KEY = '0123456789abcdef'
    const size = 262_144 - 10
    await using cutting = await testServer((_, response) => response.end(`${'x'.repeat(size)}0123456789abcdef`))
    await using http = trial({ ...here, ...tenant })
    const { body, truncated } = await http.run({ url: cutting.url, headers: { 'X-Key': ref('KEY') } })
    expect(truncated).toBe(true)
    expect((body as string).endsWith('x')).toBe(true)
  })
})

describe('an answer', () => {
  it('that shows our secrets and token is cleaned, in results, errors and logs', async () => {
    process.env.TARGET_TEST_SECRET = 'Bearer se"cret-0123456789'
    await using echo = await testServer(({ headers, url }, response) => {
      response.writeHead(Number(url.slice(1)), { 'content-type': 'application/json' }).end(JSON.stringify(headers))
    })
    await using http = trial({ ...here, secrets: ['env:TARGET_TEST_*'] })
    const headers = { Authorization: { secretRef: 'env:TARGET_TEST_SECRET' } }
    const result = await http.run({ url: `${echo.url}/200`, headers })
    expect(echo.received[0]!.headers.authorization).toBe('Bearer se"cret-0123456789')
    expect(result.body).toMatchObject({ authorization: '[secret]', 'carillon-token': '[secret]' })
    const failed = await http.run({ url: `${echo.url}/500`, headers }).catch((error: Error) => error)
    const said = JSON.stringify([result, (failed as Error).message, (failed as Error).stack, http.log])
    expect(said).not.toContain('cret-0123')
    expect(said).not.toContain('token-for')
  })

  it('that says 202 defers, one that says 503 waits as long as it asks for', async () => {
    await using server = await testServer(({ url }, response) => {
      response.writeHead(Number(url.slice(1)), { 'retry-after': '30' }).end('later')
    })
    await using http = trial(here)
    await expect(http.run({ url: `${server.url}/202` })).rejects.toBeInstanceOf(Deferred)
    const later = await http.run({ url: `${server.url}/503` }).catch((error: unknown) => error)
    expect(later).toBeInstanceOf(RetryLater)
    expect(later).toMatchObject({ retryAfterMs: 30_000, message: 'the target answered 503: later' })
    await expect(http.run({ url: `${server.url}/404` })).rejects.toBeInstanceOf(PermanentError)
  })

  it('without end is read to the limit only', async () => {
    let gone = false
    await using server = await testServer((_, response) => {
      const chunk = 'x'.repeat(65_536)
      const more = () => {
        while (response.write(chunk));
      }
      response.on('drain', more).on('close', () => {
        gone = true
      })
      more()
    })
    await using http = trial(here)
    const result = await http.run({ url: server.url })
    expect(result).toMatchObject({ status: 200, truncated: true })
    expect((result.body as string).length).toBeLessThanOrEqual(262_144)
    await expect.poll(() => gone).toBe(true)
  })

  it('that trickles in ends with the attempt', async () => {
    await using server = await testServer((_, response) => {
      const timer = setInterval(() => response.write('.'), 5)
      response.on('close', () => clearInterval(timer))
    })
    await using http = trial(here)
    const running = http.run({ url: server.url }, { signal: AbortSignal.timeout(100) })
    await expect(running).rejects.toThrow(/timeout/i)
  })

  it('that never comes is a failure with its cause', async () => {
    const closed = await testServer(() => {})
    await closed[Symbol.asyncDispose]()
    await using http = trial(here)
    await expect(http.run({ url: closed.url })).rejects.toEqual(
      new TargetFailed(`no answer from ${closed.url} (ECONNREFUSED)`),
    )
  })
})
