/** Events as they happen. */
import { apiPaths, checkOptions, type Event, type EventReset, type EventTypeFilter } from '@carillon/contract'
import type { Nodes } from '../http/nodes.ts'
import { resumed } from '../http/resumed.ts'

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

const never = new AbortController().signal

export async function* tellEvents(nodes: Nodes, options: EventsOptions): AsyncGenerator<Event | EventReset, void> {
  checkOptions(options, eventsOptionNames)
  const { signal = never, lastEventId } = options
  const last = lastEventId?.toString() ?? null
  for await (const { data } of resumed(nodes, { path: pathFor(options), last, signal })) {
    if (data !== null) yield JSON.parse(data) as Event | EventReset
  }
}

function pathFor({ types = [], jobId }: EventsOptions): string {
  const path = apiPaths.streamEvents.split(' ')[1]!
  const query = new URLSearchParams(types.map((type) => ['type', type]))
  if (jobId !== undefined) query.set('jobId', jobId)
  return query.size === 0 ? path : `${path}?${query}`
}
