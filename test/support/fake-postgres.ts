/**
 * A server that speaks just enough of PostgreSQL's protocol to accept a connection and then do what a test says: also what
 * a real one does once in a thousand times, such as ending a connection in the packet that says it is ready.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

export interface FakePostgres {
  url: string
  /** Connections that were accepted. */
  readonly accepted: number
  [Symbol.asyncDispose](): Promise<void>
}

/** What is written in one piece after the start-up message, and after each message that follows. */
export interface FakeAnswers {
  onStartup: Buffer
  onMessage?: Buffer
  /** Whether the server hangs up after its first answer. */
  hangUp: boolean
}

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const text = (value: string) => Buffer.from(`${value}\0`)

/** Authentication accepted, a key to cancel with, ready. */
export const ready = Buffer.concat([
  message('R', Buffer.from([0, 0, 0, 0])),
  message('K', Buffer.from([0, 0, 0, 1, 0, 0, 0, 2])),
  message('Z', text('I').subarray(0, 1)),
])

export function fatal(code: string): Buffer {
  const fields = [`SFATAL`, `VFATAL`, `C${code}`, `Mended by the test`].map(text)
  return message('E', Buffer.concat([...fields, Buffer.from([0])]))
}

export async function fakePostgres({ onStartup, onMessage, hangUp }: FakeAnswers): Promise<FakePostgres> {
  const sockets = new Set<Socket>()
  let accepted = 0
  const server = createServer((socket) => {
    accepted++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.once('data', () => {
      socket.write(onStartup)
      if (hangUp) socket.end()
      else socket.on('data', () => onMessage && socket.write(onMessage))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `postgres://somebody:secret@127.0.0.1:${port}/somewhere`,
    get accepted() {
      return accepted
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
