/** What a node does with clients that are broken, slow or hostile: each is refused clearly, and the node stays up. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { limits } from '@carillon/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpNode, httpNode } from '../../support/http-node.ts'

let node: HttpNode

beforeAll(async () => {
  node = await httpNode({ requestTimeoutMs: 300 })
})
afterAll(() => node[Symbol.asyncDispose]())

const oneShot = { type: 'ONE_SHOT', target: { handler: 'h' } }

describe('a body that is not what it should be', () => {
  const headers = { 'content-type': 'application/json' }

  it.each(['{', '{"type": "ONE_SHOT",}', 'null,', "{'type': 1}", '\u0000', '{"a":1}{"b":2}'])(
    'refuses %j, which is not JSON',
    async (text) => {
      const { status, body } = await node.ask('POST /v1/jobs', text, headers)
      expect({ status, code: body.code }).toEqual({ status: 400, code: 'BODY_MALFORMED' })
    },
  )

  it.each<[unknown, string]>([
    [[], ''],
    [null, ''],
    [5, ''],
    ['text', ''],
    [{ ...oneShot, type: 1 }, '/type'],
    [{ ...oneShot, target: [] }, '/target'],
    [{ ...oneShot, target: { handler: 5 } }, '/target/handler'],
    [{ ...oneShot, timeoutSec: '5' }, '/timeoutSec'],
    [{ ...oneShot, labels: { a: 1 } }, '/labels/a'],
    [{ ...oneShot, retryPolicy: { maxAttempts: 1.5 } }, '/retryPolicy/maxAttempts'],
    [{ ...oneShot, color: 'red' }, '/color'],
    [{ ...oneShot, retryPolicy: { attempts: 3 } }, '/retryPolicy/attempts'],
    [{ ...oneShot, target: { handler: 'h', queue: 'q' } }, '/target/queue'],
    [{ ...oneShot, runAt: 'tomorrow' }, '/runAt'],
  ])('refuses %j and points to %j', async (input, pointer) => {
    const { status, body } = await node.ask('POST /v1/jobs', JSON.stringify(input), headers)
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'VALIDATION' })
    expect(body.errors.map((error: { pointer?: string }) => error.pointer ?? '')).toContain(pointer)
  })

  it('names what is known beside what is not', async () => {
    const { body } = await node.ask('POST /v1/jobs', { ...oneShot, timezome: 'UTC' })
    expect(body.errors[0]).toMatchObject({ pointer: '/timezome', hint: expect.stringContaining('timezone') })
  })

  it('refuses a payload over 256 KiB and says to pass a reference', async () => {
    const { status, body } = await node.ask('POST /v1/jobs', { ...oneShot, payload: 'x'.repeat(256 * 1024) })
    expect({ status, code: body.code }).toEqual({ status: 413, code: 'PAYLOAD_TOO_LARGE' })
    expect(body.detail).toMatch(/reference/)
  })

  it('refuses a body that is too large for its route without reading it', async () => {
    const { status, body } = await node.ask('POST /v1/jobs', { ...oneShot, payload: 'x'.repeat(600 * 1024) })
    expect({ status, code: body.code }).toEqual({ status: 413, code: 'BODY_TOO_LARGE' })
  })

  it('refuses another media type', async () => {
    const { status, body } = await node.ask('POST /v1/jobs', 'type=ONE_SHOT', {
      'content-type': 'application/x-www-form-urlencoded',
    })
    expect({ status, code: body.code }).toEqual({ status: 415, code: 'MEDIA_TYPE_UNKNOWN' })
  })

  it('takes a payload that is nested as deep as every language reads, and none deeper', async () => {
    const asked = (depth: number) => {
      const payload = '['.repeat(depth) + ']'.repeat(depth)
      return node.ask('POST /v1/jobs', `{"type":"ONE_SHOT","target":{"handler":"h"},"payload":${payload}}`, headers)
    }
    expect((await asked(limits.nesting)).status).toBe(201)
    for (const depth of [limits.nesting + 1, 900]) {
      const { status, body } = await asked(depth)
      expect({ status, ...body }).toMatchObject({
        status: 422,
        code: 'PAYLOAD_INVALID',
        errors: [{ pointer: '/payload', message: expect.stringContaining('nested more than 96 deep') }],
      })
    }
    for (const depth of [3_000, 50_000]) {
      const { status, body } = await asked(depth)
      expect({ status, code: body.code }).toEqual({ status: 422, code: 'VALIDATION' })
    }
  })

  it('does not take prototypes from a body', async () => {
    const text = '{"type":"ONE_SHOT","target":{"handler":"h"},"payload":{"__proto__":{"polluted":true}}}'
    const { status } = await node.ask('POST /v1/jobs', text, headers)
    expect(status).toBe(201)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })
})

describe('a client that is slow on purpose', () => {
  it('is cut off while its headers trickle in', async () => {
    const socket = await open()
    socket.write('POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ')
    expect(await answerOf(socket)).toMatch(/^(HTTP\/1\.1 408|$)/)
  })

  it('is cut off while its body trickles in', async () => {
    const socket = await open()
    socket.write(
      'POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    )
    expect(await answerOf(socket)).toMatch(/^(HTTP\/1\.1 408|$)/)
  })

  it('does not keep others from being served, five hundred of them', async () => {
    const sockets = await Promise.all(Array.from({ length: 500 }, open))
    for (const socket of sockets) socket.write('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-')
    expect(await node.ask('GET /healthz')).toMatchObject({ status: 200 })
    await Promise.all(sockets.map(answerOf))
    expect(await node.ask('GET /readyz')).toMatchObject({ status: 200 })
  })
})

describe('what is no request at all', () => {
  it.each(['\r\n\r\n\r\n', 'GET\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n', '\u0016\u0003\u0001\u0002', 'HELO mail\r\n'])(
    'is answered 400 or cut off: %j',
    async (text) => {
      const socket = await open()
      socket.write(text)
      expect(await answerOf(socket)).toMatch(/^(HTTP\/1\.1 (400|408|505)|$)/)
    },
  )

  it('refuses headers over 16 KiB', async () => {
    const { status, body } = await node.ask('GET /healthz', undefined, { 'x-long': 'x'.repeat(20_000) })
    expect({ status, code: body.code }).toEqual({ status: 431, code: 'HEADERS_TOO_LARGE' })
  })

  it('takes odd paths for what they are', async () => {
    for (const path of [
      '/v1/jobs/%00',
      '/v1/jobs/..%2f..%2fetc',
      '/v1/jobs/%ff',
      '/v1//jobs',
      `/v1/jobs/${'x'.repeat(5_000)}`,
    ]) {
      const { status } = await node.ask(`GET ${path}`)
      expect([400, 404, 414, 422], path).toContain(status)
    }
    expect(await node.ask('GET /readyz')).toMatchObject({ status: 200 })
  })
})

async function open(): Promise<Socket> {
  const { hostname, port } = new URL(node.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** What came until the node closed the connection. */
async function answerOf(socket: Socket): Promise<string> {
  let text = ''
  for await (const chunk of socket) text += chunk
  return text
}
