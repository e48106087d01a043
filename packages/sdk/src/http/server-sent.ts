/** Server-sent events, taken apart. */
export interface ServerSent {
  /** The place in the stream after it. */
  id: string | null
  /** Its type; null: none was given. */
  event: string | null
  /** Null: it only says how far the stream has come. */
  data: string | null
}

const nothing: ServerSent = { id: null, event: null, data: null }

export async function* serverSent(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSent, void> {
  let message: ServerSent = { ...nothing }
  for await (const line of linesOf(chunks)) {
    if (line === '') {
      if (message.id !== null || message.data !== null) yield message
      message = { ...nothing }
      continue
    }
    const [, field, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!
    if (field === 'id') message.id = value ?? ''
    else if (field === 'event') message.event = value ?? ''
    else if (field === 'data') message.data = message.data === null ? (value ?? '') : `${message.data}\n${value ?? ''}`
  }
}

/** What is not complete at the end is none. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop()!
    for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line
  }
}
