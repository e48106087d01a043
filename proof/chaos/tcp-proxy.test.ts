import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { until } from '../../test/support/until.ts'
import { TcpProxy } from './tcp-proxy.ts'

/** Says everything back. */
let echo: Server
let proxy: TcpProxy
let heard: string

beforeEach(async () => {
  echo = createServer((socket) => socket.on('error', () => {}).pipe(socket)).listen(0, '127.0.0.1')
  await once(echo, 'listening')
  const { port } = echo.address() as { port: number }
  proxy = await TcpProxy.open(() => port)
  heard = ''
})
afterEach(async () => {
  await proxy.close()
  echo.close()
})

async function client(): Promise<Socket> {
  const socket = connect(proxy.port, '127.0.0.1')
  socket.setEncoding('utf8').on('data', (text: string) => {
    heard += text
  })
  await once(socket, 'connect')
  return socket
}

it('passes on what is said, and the end of it', async () => {
  const socket = await client()
  socket.end('hello')
  await once(socket, 'close')
  expect(heard).toBe('hello')
  await until(() => proxy.connections === 0)
})

it('cuts: the connection is reset, and the next one works', async () => {
  const socket = await client()
  socket.write('one')
  await until(() => heard === 'one')
  const reset = once(socket, 'error').catch(([error]) => [error])
  proxy.cut()
  expect((await reset)[0]).toMatchObject({ code: 'ECONNRESET' })
  const next = await client()
  next.end('two')
  await until(() => heard === 'onetwo')
})

it('holds: accepts and passes nothing on, until it is let go', async () => {
  const before = await client()
  before.write('one')
  await until(() => heard === 'one')
  proxy.hold()
  before.write('two')
  const meanwhile = await client()
  meanwhile.write('three')
  await until(() => proxy.connections === 2)
  expect(heard).toBe('one')
  proxy.letGo('PASS_ON')
  await until(() => heard.includes('two') && heard.includes('three'))
  before.destroy()
  meanwhile.destroy()
})

it('holds and then resets', async () => {
  const socket = await client()
  proxy.hold()
  socket.write('never')
  const gone = once(socket, 'close').catch(() => {})
  socket.on('error', () => {})
  proxy.letGo('RESET')
  await gone
  expect(heard).toBe('')
})

it('resets when nobody is at the other end', async () => {
  echo.close()
  const socket = connect(proxy.port, '127.0.0.1')
  const [error] = (await once(socket, 'close').then(
    () => [{ code: 'ECONNRESET' }],
    (thrown) => [thrown],
  )) as [{ code: string }]
  expect(error.code).toBe('ECONNRESET')
})
