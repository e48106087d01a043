/**
 * One stream of events. It reads more only when its last batch was consumed, and continues from its own position: from
 * the batch shared by all listeners if it is in step, else from the table. So a slow reader keeps nothing in memory and
 * delays no one, and there is no gap between replayed and live events.
 */
import { monotonicMs } from '../lib/clock.ts'
import type { Database } from '../store/database.ts'
import { type EventRow, readPage } from '../store/events/read.ts'
import type { Coverage } from './coverage.ts'
import type { Feed } from './feed.ts'

const pageSize = 500
const sayEveryMs = 15_000

/** `at`: from here it can go on. */
export type StreamItem =
  | { kind: 'EVENTS'; at: number; events: EventRow[] }
  /** Events may be missing before `at`. */
  | { kind: 'RESET'; at: number }
  /** Nothing new for this listener up to here. */
  | { kind: 'PLACE'; at: number }

export interface ListenerOptions {
  database: Database
  feed: Feed
  coverage: Coverage
  tenant: string
  /** The last event it knows. */
  at: number
  /** What it knows is too old, or no place in the stream at all. */
  reset: boolean
  wants: (event: EventRow) => boolean
  /** On this process's monotonic clock: then it ends, with all that is there by then. */
  until: number
  signal: AbortSignal
}

export class Listener {
  readonly #options: ListenerOptions
  #at: number

  constructor(options: ListenerOptions) {
    this.#options = options
    this.#at = options.at
  }

  async *items(): AsyncGenerator<StreamItem> {
    const { feed, signal, until, reset } = this.#options
    yield { kind: reset ? 'RESET' : 'PLACE', at: this.#at }
    let saidAt = monotonicMs()
    while (!signal.aborted) {
      const { position } = feed
      const said = position === null ? null : await this.#next(position)
      if (said === null && position !== null && this.#at < position) continue
      const now = monotonicMs()
      if (said !== null || now >= saidAt + sayEveryMs) {
        saidAt = now
        yield said ?? { kind: 'PLACE', at: this.#at }
      } else if (now < until || position === null) {
        const sayMs = saidAt + sayEveryMs - now
        await feed.news(now < until ? Math.min(sayMs, until - now) : sayMs, signal)
      } else {
        return
      }
    }
  }

  /** Null: nothing for this listener, up to the position or as far as was read. */
  async #next(position: number): Promise<StreamItem | null> {
    const { feed, coverage, tenant, wants } = this.#options
    const since = coverage.sinceOf(tenant)
    if (since > this.#at) return this.#reset(since)
    if (position <= this.#at) return null
    const step = feed.stepFrom(tenant, this.#at) ?? (await this.#page(position))
    if ('missing' in step) return this.#reset(step.missing)
    this.#at = step.upTo
    const events = step.events.filter(wants)
    return events.length === 0 ? null : { kind: 'EVENTS', at: this.#at, events }
  }

  /** `missing`: up to here something may be. */
  async #page(upTo: number): Promise<{ upTo: number; events: EventRow[] } | { missing: number }> {
    const { database, tenant } = this.#options
    const asked = { after: this.#at, upTo, limit: pageSize }
    const { sinceEventId, events } = await readPage(database, tenant, asked)
    if (sinceEventId === null || sinceEventId > this.#at) return { missing: sinceEventId ?? upTo }
    return { upTo: events.length < pageSize ? upTo : events.at(-1)!.eventId, events }
  }

  #reset(at: number): StreamItem {
    this.#at = at
    return { kind: 'RESET', at }
  }
}
