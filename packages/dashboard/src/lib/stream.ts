/**
 * Server-sent events by fetch, because an EventSource sends no token. Goes on where it stopped after a broken connection, until
 * its signal aborts or the stream says that it has ended.
 */
import { type OperationId, Refusal, request } from './api.ts'

export interface StreamMessage {
  event: string
  data: string
  /** Where the stream goes on after it. */
  id: string | null
}

const pauseMs = 1_000

export async function follow(
  id: OperationId,
  wanted: { params?: object; query?: object; signal: AbortSignal },
  onMessage: (message: StreamMessage) => 'END' | undefined,
): Promise<void> {
  let lastId: string | null = null
  while (!wanted.signal.aborted) {
    try {
      const headers: Record<string, string> = {
        accept: 'text/event-stream',
        ...(lastId !== null && { 'last-event-id': lastId }),
      }
      const response = await request(id, { ...wanted, headers })
      for await (const message of messagesOf(response)) {
        if (message.id !== null) lastId = message.id
        if (message.data !== '' && onMessage(message) === 'END') return
      }
    } catch (error) {
      if (error instanceof Refusal && error.status < 500 && error.status !== 429) throw error
    }
    await pause(wanted.signal)
  }
}

async function* messagesOf(response: Response): AsyncGenerator<StreamMessage> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  let message = fresh()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const lines = (rest + value).split('\n')
    rest = lines.pop()!
    for (const line of lines) {
      if (line.trim() === '') {
        if (message.data !== '' || message.id !== null) yield message
        message = fresh()
        continue
      }
      const [, field, text = ''] = /^([^:]*):? ?(.*)$/.exec(line)!
      if (field === 'event') message.event = text
      else if (field === 'id') message.id = text
      else if (field === 'data') message.data = message.data === '' ? text : `${message.data}\n${text}`
    }
  }
}

function fresh(): StreamMessage {
  return { event: 'message', data: '', id: null }
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, pauseMs)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
