/** An HTTP server on a real socket that answers as a test says, well or badly. */
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export interface Seen {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: string
  /** Resolves when the client's connection is gone. */
  gone: Promise<void>
}

export type Scripted =
  | { status?: number; body?: unknown; text?: string; headers?: Record<string, string> }
  /** Takes the request and never says anything. */
  | 'SILENT'
  /** Cuts the connection instead of answering. */
  | 'CUT'
  /** Cuts the connection in the middle of the answer. */
  | 'CUT_SHORT'

export class ScriptedServer {
  readonly seen: Seen[] = []
  answer: (seen: Seen) => Scripted | Promise<Scripted>
  /** With the end of each. */
  readonly #sockets = new Map<Socket, Promise<void>>()
  #server: Server | null = null
  #port = 0

  constructor(answer: (seen: Seen) => Scripted | Promise<Scripted> = () => ({ body: {} })) {
    this.answer = answer
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  get connections(): number {
    return this.#sockets.size
  }

  /** The second time it takes the same port again. */
  async listen(): Promise<this> {
    const server = createServer(async (request, response) => {
      let body = ''
      for await (const chunk of request.setEncoding('utf8')) body += chunk
      const { method, url, headers, socket } = request
      const gone = this.#sockets.get(socket) ?? Promise.resolve()
      const seen = { method: method!, path: url!, headers, body, gone }
      this.seen.push(seen)
      send(response, await this.answer(seen))
    })
    server.on('connection', (socket) => {
      const gone = new Promise<void>((resolve) => socket.once('close', () => resolve()))
      this.#sockets.set(socket, gone)
      void gone.then(() => this.#sockets.delete(socket))
    })
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (server.address() as AddressInfo).port
    this.#server = server
    return this
  }

  /** As a process that dies: every connection is cut, and nobody listens. */
  async die(): Promise<void> {
    const server = this.#server
    this.#server = null
    if (server === null) return
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of this.#sockets.keys()) socket.resetAndDestroy()
    await closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.die()
  }
}

export async function scriptedServer(answer?: ScriptedServer['answer']): Promise<ScriptedServer> {
  return new ScriptedServer(answer).listen()
}

export function problem(status: number, code: string, more: object = {}): Scripted {
  return { status, body: { status, code, detail: `it is ${code}`, errors: [], ...more } }
}

function send(response: ServerResponse, scripted: Scripted): void {
  if (scripted === 'SILENT') return
  if (scripted === 'CUT') response.socket!.destroy()
  else if (scripted === 'CUT_SHORT') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
    response.write('{"half":', () => response.socket!.destroy())
  } else {
    const { status = 200, body, headers = {} } = scripted
    const text = scripted.text ?? (body === undefined ? '' : JSON.stringify(body))
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
  }
}
