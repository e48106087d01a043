/**
 * Events as they happen. The connection may break at any moment: the next one goes on after the last event that was handed
 * out. A node sends something every 15 seconds; one that is silent for longer is abandoned.
 */

import {
  apiPaths,
  CarillonError,
  checkOptions,
  type Event,
  type EventReset,
  type EventTypeFilter,
} from '@carillon/contract'
import { Backoff } from '@carillon/contract/process'
import type { Nodes } from '../http/nodes.ts'
import { serverSent } from '../http/server-sent.ts'
import { pause } from '../pause.ts'

export interface EventsOptions {
  /** All unless given. `execution.*` is all about executions. */
  types?: readonly EventTypeFilter[]
  /** Of this job only, by id or key. */
  jobId?: string
  /** Go on after this event; what comes before it is known. Unless given: from now on. */
  lastEventId?: number
  /** Ends it. */
  signal?: AbortSignal
}

const eventsOptionNames = ['types', 'jobId', 'lastEventId', 'signal']

const silentMs = 45_000
const never = new AbortController().signal
/** Transient errors. */
const passing = new Set([408, 429, 502, 503, 504])

export async function* tellEvents(nodes: Nodes, options: EventsOptions): AsyncGenerator<Event | EventReset, void> {
  checkOptions(options, eventsOptionNames)
  const { signal = never } = options
  const backoff = new Backoff()
  let last = options.lastEventId?.toString() ?? null
  for (let connected = false; !signal.aborted; ) {
    const connection = new AbortController()
    const close = () => connection.abort()
    signal.addEventListener('abort', close)
    let silence: NodeJS.Timeout | undefined
    try {
      const chunks = await nodes.open(requestFor(options, last, connection.signal))
      connected = true
      silence = setTimeout(close, silentMs)
      for await (const { id, data } of serverSent(chunks)) {
        clearTimeout(silence)
        backoff.reset()
        last = id ?? last
        if (data !== null) yield JSON.parse(data) as Event | EventReset
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

function requestFor({ types = [], jobId }: EventsOptions, last: string | null, signal: AbortSignal) {
  const [method, path] = apiPaths.streamEvents.split(' ') as [string, string]
  const query = new URLSearchParams(types.map((type) => ['type', type]))
  if (jobId !== undefined) query.set('jobId', jobId)
  const headers = { accept: 'text/event-stream', ...(last !== null && { 'last-event-id': last }) }
  return { method, path: query.size === 0 ? path : `${path}?${query}`, headers, signal }
}

function isRefusal(error: unknown): boolean {
  return error instanceof CarillonError && !passing.has(error.status)
}
