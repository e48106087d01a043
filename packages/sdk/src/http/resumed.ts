/**
 * A stream of server-sent events that goes on. The connection may break at any moment: the next one continues after the last message that
 * was handed out. A node sends something every 15 seconds; one that is silent for longer is abandoned.
 */
import { CarillonError } from '@carillon/contract'
import { Backoff } from '@carillon/contract/process'
import { pause } from '../pause.ts'
import type { Nodes } from './nodes.ts'
import { type ServerSent, serverSent } from './server-sent.ts'

export interface ResumedOptions {
  path: string
  /** The place after which it begins; null: where the node does. */
  last: string | null
  signal: AbortSignal
}

const silentMs = 45_000
/** Transient errors. */
const passing = new Set([408, 429, 502, 503, 504])

/** Throws what a node refuses with, and UNAVAILABLE if none answers at the start. Ends when `signal` aborts, or its consumer stops. */
export async function* resumed(nodes: Nodes, options: ResumedOptions): AsyncGenerator<ServerSent, void> {
  const { path, signal } = options
  const backoff = new Backoff()
  let { last } = options
  for (let connected = false; !signal.aborted; ) {
    const connection = new AbortController()
    const close = () => connection.abort()
    signal.addEventListener('abort', close)
    let silence: NodeJS.Timeout | undefined
    try {
      const headers = { accept: 'text/event-stream', ...(last !== null && { 'last-event-id': last }) }
      const chunks = await nodes.open({ method: 'GET', path, headers, signal: connection.signal })
      connected = true
      silence = setTimeout(close, silentMs)
      for await (const message of serverSent(chunks)) {
        clearTimeout(silence)
        backoff.reset()
        last = message.id ?? last
        yield message
        silence = setTimeout(close, silentMs)
      }
    } catch (error) {
      if (!signal.aborted && (!connected || isRefusal(error))) throw error
    } finally {
      clearTimeout(silence)
      signal.removeEventListener('abort', close)
      close()
    }
    if (!signal.aborted) await pause(backoff.nextMs(), signal)
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof CarillonError && !passing.has(error.status)
}
