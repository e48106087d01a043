/**
 * One keep-alive connection that speaks just enough HTTP/1.1 to load a node: one request in flight, answers that say
 * their length. A client of comfort costs as much per request as the node does and would be measured with it.
 */
import { connect, type Socket } from 'node:net'

export interface RawAnswer {
  status: number
  /** The bytes are the connection's own and hold only during the call. */
  bytes: Buffer
  bodyStart: number
  bodyEnd: number
}

export type OnAnswer = (answer: RawAnswer) => void

const readBytes = 64 * 1024
const headEnd = Buffer.from('\r\n\r\n')

export class RawConnection {
  readonly #socket: Socket
  readonly #answer: RawAnswer = { status: 0, bytes: Buffer.alloc(0), bodyStart: 0, bodyEnd: 0 }
  /** What has come of an answer that is not whole yet. */
  #begun: Buffer | null = null
  #onAnswer: OnAnswer | null = null

  private constructor(socket: Socket) {
    this.#socket = socket
  }

  /** `onLost` hears of the end of the connection, unless it was closed here. */
  static open(url: string, onLost: (error: Error) => void): Promise<RawConnection> {
    const { hostname, port } = new URL(url)
    return new Promise((resolve, reject) => {
      let connection: RawConnection | undefined
      const socket = connect({
        host: hostname,
        port: Number(port),
        noDelay: true,
        onread: {
          buffer: Buffer.allocUnsafeSlow(readBytes),
          callback: (bytes, buffer) => {
            connection!.#read((buffer as Buffer).subarray(0, bytes))
            return true
          },
        },
      })
      socket.once('error', reject)
      socket.once('connect', () => {
        connection = new RawConnection(socket)
        socket.off('error', reject)
        socket.once('error', onLost)
        socket.once('end', () => onLost(new Error('the node closed the connection')))
        resolve(connection)
      })
    })
  }

  /** The next request may be sent from inside `onAnswer`. */
  send(request: string, onAnswer: OnAnswer): void {
    if (this.#onAnswer) throw new Error('a request is in flight on this connection already')
    this.#onAnswer = onAnswer
    this.#socket.write(request, 'latin1')
  }

  close(): void {
    this.#socket.removeAllListeners('end')
    this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    const bytes = this.#begun ? Buffer.concat([this.#begun, chunk]) : chunk
    const head = bytes.indexOf(headEnd)
    const length = head < 0 ? undefined : /\r\ncontent-length: *(\d+)/i.exec(bytes.toString('latin1', 0, head))?.[1]
    if (head >= 0 && length === undefined) throw new Error(`no content-length: ${bytes.toString('latin1', 0, head)}`)
    const bodyStart = head + headEnd.length
    if (head < 0 || bytes.length < bodyStart + Number(length)) {
      this.#begun = this.#begun ? bytes : Buffer.from(bytes)
      return
    }
    this.#begun = null
    const answer = this.#answer
    answer.status = Number(bytes.toString('latin1', 9, 12))
    answer.bytes = bytes
    answer.bodyStart = bodyStart
    answer.bodyEnd = bodyStart + Number(length)
    const onAnswer = this.#onAnswer
    this.#onAnswer = null
    if (!onAnswer || bytes.length > answer.bodyEnd) {
      throw new Error(`the node said more than was asked: ${bytes.toString('latin1', 0, 500)}`)
    }
    onAnswer(answer)
  }
}
