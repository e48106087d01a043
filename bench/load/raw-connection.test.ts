import { createServer, type Server } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { RawConnection } from './raw-connection.ts'
import { requestText } from './requests.ts'

let server: Server
afterEach(() => new Promise((closed) => server.close(closed)))

/** Answers every request with these pieces, one after the other. */
function answering(...pieces: string[]): Promise<string> {
  server = createServer((socket) =>
    socket.on('data', async () => {
      for (const piece of pieces) {
        if (piece === '') socket.end()
        else await new Promise((written) => socket.write(piece, written))
      }
    }),
  )
  return new Promise((listening) =>
    server.listen(0, '127.0.0.1', () => listening(`http://127.0.0.1:${(server.address() as { port: number }).port}`)),
  )
}

function ask(connection: RawConnection): Promise<string> {
  return new Promise((resolve) =>
    connection.send('GET / HTTP/1.1\r\n\r\n', ({ status, bytes, bodyStart, bodyEnd }) =>
      resolve(`${status} ${bytes.toString('latin1', bodyStart, bodyEnd)}`),
    ),
  )
}

it('reads answers in one piece and in many, one request after the other on one connection', async () => {
  const url = await answering('HTTP/1.1 201 Created\r\nContent-', 'Length: 5\r\n\r', '\nhel', 'lo')
  const connection = await RawConnection.open(url, () => {})
  expect(await ask(connection)).toBe('201 hello')
  expect(await ask(connection)).toBe('201 hello')
  connection.close()
})

it('says so when the node closes the connection', async () => {
  const url = await answering('')
  const lost = Promise.withResolvers<Error>()
  const connection = await RawConnection.open(url, lost.resolve)
  void ask(connection)
  expect((await lost.promise).message).toMatch(/closed/)
})

it('takes one request at a time', async () => {
  const url = await answering('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
  const connection = await RawConnection.open(url, () => {})
  const first = ask(connection)
  expect(() => connection.send('GET / HTTP/1.1\r\n\r\n', () => {})).toThrow(/in flight/)
  expect(await first).toBe('200 ')
  connection.close()
})

it('writes requests whose length is right', () => {
  const text = requestText({ method: 'POST', path: '/v1/jobs', host: 'h', token: 't', body: { a: 1 } })
  expect(text).toBe(
    'POST /v1/jobs HTTP/1.1\r\nhost: h\r\nauthorization: Bearer t\r\ncontent-type: application/json\r\ncontent-length: 7\r\n\r\n{"a":1}',
  )
})
