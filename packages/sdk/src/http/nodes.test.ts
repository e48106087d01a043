import { CarillonError } from '@carillon/contract'
import { silentLogger } from '@carillon/contract/process'
import { describe, expect, test, vi } from 'vitest'
import type { NodeOptions } from './node-options.ts'
import { Nodes } from './nodes.ts'
import { problem, type ScriptedServer, scriptedServer } from './testing/scripted-server.ts'

const get = { method: 'GET', path: '/v1/jobs' } as const
const post = { method: 'POST', path: '/v1/jobs', body: '{}' } as const

function connect(urls: string | string[], options: Partial<NodeOptions> = {}) {
  const nodes = new Nodes({ urls, logger: silentLogger, ...options })
  return Object.assign(nodes, { [Symbol.asyncDispose]: () => nodes.close() })
}

/** Two servers that say who they are; the first is the one that is preferred. */
async function pair(options: Partial<NodeOptions> = {}) {
  const servers = [await scriptedServer(), await scriptedServer()]
  const nodes = connect(
    servers.map(({ url }) => url),
    options,
  )
  for (const server of servers) server.answer = () => ({ body: server.url })
  const [first, second] = nodes.urls.map((url) => servers.find((server) => server.url === url)!)
  return {
    nodes,
    first: first!,
    second: second!,
    async [Symbol.asyncDispose]() {
      await nodes.close()
      for (const server of servers) await server.die()
    },
  }
}

const refusal = (request: Promise<unknown>): Promise<CarillonError> =>
  request.then(
    () => expect.unreachable(),
    (error) => {
      expect(error).toBeInstanceOf(CarillonError)
      return error
    },
  )

describe('a request', () => {
  test('carries the token, the tenant and JSON, below the path of the URL', async () => {
    await using server = await scriptedServer(() => ({ status: 201, body: { ok: true } }))
    let asked = 0
    await using nodes = connect(`${server.url}/carillon/`, { token: async () => `t${++asked}`, tenant: 'acme' })
    expect(await nodes.request(get)).toEqual({ ok: true })
    expect(await nodes.ask({ ...post, headers: { 'if-match': '3' } })).toMatchObject({ status: 201 })
    const [first, second] = server.seen
    expect(first).toMatchObject({ path: '/carillon/v1/jobs', headers: { authorization: 'Bearer t1' } })
    expect(second).toMatchObject({
      method: 'POST',
      body: '{}',
      headers: {
        authorization: 'Bearer t2',
        'carillon-tenant': 'acme',
        'content-type': 'application/json',
        'if-match': '3',
      },
    })
  })

  test('that is refused throws what the problem document says, also with a code that is new to us', async () => {
    await using server = await scriptedServer()
    await using nodes = connect(server.url)
    const errors = [{ pointer: '/schedule', message: 'is no cron', hint: 'Use five fields' }]
    server.answer = () => problem(422, 'SCHEDULE_INVALID', { errors })
    expect(await refusal(nodes.ask(get))).toMatchObject({ code: 'SCHEDULE_INVALID', status: 422, errors })
    server.answer = () => ({ ...(problem(429, 'MOON_FULL') as object), headers: { 'retry-after': '7' } })
    const unknown = await refusal(nodes.ask(get))
    expect(unknown).toMatchObject({ code: 'MOON_FULL', status: 429, retryAfterMs: 7_000, message: 'it is MOON_FULL' })
    expect(server.seen).toHaveLength(2)
  })

  test('answered by something that is no node says so', async () => {
    await using server = await scriptedServer(() => ({ status: 404, text: '<h1>Not here</h1>' }))
    await using nodes = connect(server.url)
    const error = await refusal(nodes.ask(get))
    expect(error).toMatchObject({ code: 'ROUTE_NOT_FOUND', status: 404 })
    expect(error.message).toContain(`${server.url} answered 404: <h1>Not here</h1>`)
    server.answer = () => ({ status: 302, headers: { location: 'http://elsewhere.example' } })
    expect(await refusal(nodes.ask(get))).toMatchObject({ status: 302 })
    server.answer = () => ({ text: '{' })
    expect((await refusal(nodes.ask(get))).message).toContain('not JSON')
  })

  test('that is aborted closes its connection', async () => {
    await using server = await scriptedServer(() => 'SILENT')
    await using nodes = connect(server.url)
    const ending = new AbortController()
    const asked = nodes.ask({ ...get, signal: ending.signal })
    await vi.waitFor(() => expect(server.seen).toHaveLength(1))
    ending.abort(new Error('enough'))
    await expect(asked).rejects.toThrow('enough')
    await server.seen[0]!.gone
    await expect(nodes.ask({ ...get, signal: ending.signal })).rejects.toThrow('enough')
  })

  test('with a token that no header can hold says what is wrong', async () => {
    await using server = await scriptedServer()
    await using nodes = connect(server.url, { token: 'a\nb' })
    expect(await refusal(nodes.ask(get))).toMatchObject({ code: 'CONFIG_INVALID' })
  })
})

describe('among several nodes', () => {
  test('one is kept to while it answers', async () => {
    await using rig = await pair()
    for (let n = 0; n < 5; n++) expect(await rig.nodes.request(post)).toBe(rig.first.url)
    expect(rig.second.seen).toHaveLength(0)
  })

  test.each<[string, (server: ScriptedServer) => unknown]>([
    ['is gone', (server) => server.die()],
    ['says 503', (server) => (server.answer = () => problem(503, 'UNAVAILABLE'))],
    ['cuts the connection', (server) => (server.answer = () => 'CUT')],
    ['cuts it in the middle of the answer', (server) => (server.answer = () => 'CUT_SHORT')],
    ['is silent', (server) => (server.answer = () => 'SILENT')],
  ])('the next one is asked when it %s', async (_, harm) => {
    const warn = vi.fn()
    await using rig = await pair({ timeoutMs: 1_000, logger: { ...silentLogger, warn } })
    await harm(rig.first)
    expect(await rig.nodes.request(get)).toBe(rig.second.url)
    expect(await rig.nodes.request(get)).toBe(rig.second.url)
    expect(rig.first.seen.length).toBeLessThanOrEqual(1)
    expect(warn).toHaveBeenCalledOnce()
  })

  test('what may have been taken is not sent again, unless that does no harm', async () => {
    await using rig = await pair()
    rig.first.answer = () => 'CUT'
    expect(await refusal(rig.nodes.ask(post))).toMatchObject({ code: 'UNAVAILABLE', status: 503 })
    expect(rig.second.seen).toHaveLength(0)
    await using other = await pair()
    other.first.answer = () => 'CUT'
    expect(await other.nodes.request({ ...post, headers: { 'idempotency-key': 'k' } })).toBe(other.second.url)
  })

  test('what cannot have been taken is sent to the next', async () => {
    await using rig = await pair()
    await rig.first.die()
    expect(await rig.nodes.request(post)).toBe(rig.second.url)
  })

  test('the preferred one is used again when it has rested and answers a probe', async () => {
    let now = 0
    await using rig = await pair({ clock: { now: () => now } })
    await rig.first.die()
    expect(await rig.nodes.request(get)).toBe(rig.second.url)
    await rig.first.listen()
    rig.first.answer = ({ path }) => (path === '/readyz' ? { status: 503 } : { body: rig.first.url })
    now = 1_100
    await rig.nodes.request(get)
    await vi.waitFor(() => expect(rig.first.seen).toHaveLength(1))
    rig.first.answer = () => ({ body: rig.first.url })
    await vi.waitFor(async () => {
      now += 31_000
      expect(await rig.nodes.request(get)).toBe(rig.first.url)
    })
    expect(rig.first.seen.filter(({ path }) => path !== '/readyz')).toHaveLength(1)
  })

  test('polls at a node that is silent are given up', async () => {
    await using rig = await pair()
    rig.first.answer = () => 'SILENT'
    const polled = rig.nodes.request({ ...post, repeatable: true, poll: true, timeoutMs: 60_000 })
    await vi.waitFor(() => expect(rig.first.seen).toHaveLength(1))
    await rig.nodes.request({ ...get, timeoutMs: 1_000 })
    expect(await polled).toBe(rig.second.url)
  })

  test('when none answers it throws, or goes on for as long as it is told to', async () => {
    await using server = await scriptedServer(() => ({ body: 'here' }))
    await server.die()
    await using hasty = connect([server.url, server.url])
    expect(await refusal(hasty.ask(get))).toMatchObject({ code: 'UNAVAILABLE' })
    await using patient = connect(server.url, { patienceMs: 20_000 })
    const asked = patient.request(get)
    await server.listen()
    expect(await asked).toBe('here')
  })
})

describe('what is told', () => {
  test.each([
    ['no URL', []],
    ['no URL', 'carillon.example'],
    ['another protocol', 'ftp://carillon.example'],
    ['a password', 'https://me:secret@carillon.example'],
    ['a query', 'https://carillon.example/?a=1'],
  ])('%s is refused', (_, urls) => {
    expect(() => connect(urls)).toThrow(CarillonError)
  })

  test('a token in plain text to another machine is warned of, once', () => {
    const warn = vi.fn()
    const logger = { ...silentLogger, warn }
    connect(['http://10.0.0.1:7171', 'http://10.0.0.2:7171'], { token: 't', logger })
    expect(warn).toHaveBeenCalledOnce()
    connect(['http://127.0.0.1:7171', 'http://localhost:1', 'http://[::1]:1', 'https://10.0.0.1'], {
      token: 't',
      logger,
    })
    connect('http://10.0.0.1:7171', { logger })
    expect(warn).toHaveBeenCalledOnce()
  })
})
