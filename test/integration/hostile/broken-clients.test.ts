/** Clients that break off, stammer or send what is barely HTTP: they are told, nobody is woken for it, and the node goes on. */
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Guarded, guarded } from './tenants.ts'

let on: Guarded
let common: string
let auth: string

beforeAll(async () => {
  on = await guarded()
  auth = (await on.headersOf('acme')).authorization
  common = `Host: x\r\nAuthorization: ${auth}\r\nContent-Type: application/json\r\n`
})
afterAll(() => on?.[Symbol.asyncDispose]())

const job = JSON.stringify({ type: 'ONE_SHOT', target: { handler: 'h' } })

/** What comes back until the node closes the connection, or `then` does. */
function exchange(text: string, then: (socket: Socket) => void = () => {}): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(Number(new URL(on.node.url).port), '127.0.0.1', () => socket.write(text, () => then(socket)))
    socket.on('data', (data) => {
      answer += data.toString()
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer))
  })
}

const post = (more: string, body: string) => `POST /v1/jobs HTTP/1.1\r\n${common}${more}\r\n${body}`
const statusesIn = (answer: string) => [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))
const codeIn = (answer: string) => /"code":"(\w+)"/.exec(answer)?.[1]

async function serverErrors(): Promise<string[]> {
  const { body } = await on.node.ask('GET /metrics')
  return (body as string).split('\n').filter((line) => /_count\{.*status="5/.test(line))
}

describe('a client that breaks off', () => {
  it('in the middle of its body, politely or not, is no trouble of the node', async () => {
    const cut = post('Content-Length: 500\r\n', '{"type":')
    expect(codeIn(await exchange(cut, (socket) => socket.end()))).toBe('BODY_MALFORMED')
    await exchange(cut, (socket) => setTimeout(() => socket.resetAndDestroy(), 50))
    expect(codeIn(await exchange(post('Transfer-Encoding: chunked\r\n', 'zz\r\n')))).toBe('BODY_MALFORMED')
    expect(await serverErrors()).toEqual([])
  })

  it('while it waits', async () => {
    const { jobId } = (await on.node.ask('POST /v1/jobs', job, { authorization: auth })).body
    const wait = `GET /v1/executions/${jobId}?waitSec=60 HTTP/1.1\r\n${common}\r\n`
    await Promise.all(
      Array.from({ length: 50 }, () => exchange(wait, (s) => setTimeout(() => s.resetAndDestroy(), 50))),
    )
    await Promise.all(Array.from({ length: 5 }, () => exchange(wait, (s) => setTimeout(() => s.destroy(), 50))))
    expect(await serverErrors()).toEqual([])
  })
})

describe('odd requests', () => {
  const close = 'Connection: close\r\n'
  const length = `Content-Length: ${job.length}\r\n`

  it('several in a row, without waiting for answers', async () => {
    const last = `GET /healthz HTTP/1.1\r\n${common}${close}\r\n`
    expect(statusesIn(await exchange(post(length, job) + post(length, job) + last))).toEqual([201, 201, 200])
  })

  it.each([
    ['a length said twice', 'POST /v1/jobs HTTP/1.1', 'Content-Length: 5\r\nContent-Length: 6\r\n', 400],
    ['a length and chunks', 'POST /v1/jobs HTTP/1.1', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', 400],
    ['an address with a broken percent sign', 'GET /v1/jobs/%ZZ HTTP/1.1', '', 404],
    ['an address that is no UTF-8', 'GET /v1/jobs/%C0%AE HTTP/1.1', '', 404],
    ['TRACE', 'TRACE /v1/jobs HTTP/1.1', '', 405],
  ])('%s', async (_, line, headers, status) => {
    const answer = await exchange(`${line}\r\nHost: x\r\n${headers}${close}\r\n`)
    expect(statusesIn(answer)).toEqual([status])
    expect(answer.toLowerCase()).toContain('content-type: application/problem+json')
    expect(JSON.parse(answer.split('\r\n\r\n')[1]!)).toMatchObject({ status, errors: [{}] })
  })

  it('of two tokens the first one counts', async () => {
    const two = `GET /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer nobody\r\nAuthorization: ${auth}\r\n${close}\r\n`
    expect(statusesIn(await exchange(two))).toEqual([401])
  })
})

it('what a payload cannot be in JavaScript is refused or comes back as it was sent', async () => {
  const sent = ['"\\ud800"', '{"\\udc00":1}', '"a\\u0000b"', '{"__proto__":{"a":1}}', '{"toJSON":"x"}']
  for (const payload of sent) {
    const body = `{"type":"ONE_SHOT","target":{"handler":"h"},"payload":${payload}}`
    const { status, body: made } = await on.node.ask('POST /v1/jobs', body, { authorization: auth })
    expect(status).toBe(201)
    const url = `${on.node.url}/v1/executions/${made.jobId}`
    expect(await (await fetch(url, { headers: { authorization: auth } })).text()).toContain(`"payload":${payload}`)
  }
  const infinite = '{"type":"ONE_SHOT","target":{"handler":"h"},"payload":1e400}'
  expect((await on.node.ask('POST /v1/jobs', infinite, { authorization: auth })).body.code).toBe('PAYLOAD_INVALID')
})
