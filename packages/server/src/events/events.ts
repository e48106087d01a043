/**
 * Events for the listeners of this node: what was committed, in order, nothing missing and nothing twice, also for a
 * listener that comes back at another node. One tenant's listener never sees another tenant's events. How many may listen is
 * bounded, and a slow one costs no more than a quick one.
 */
import { CarillonError } from '@carillon/contract'
import { monotonicMs } from '../lib/clock.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import { readWriters } from '../store/events/listeners.ts'
import type { EventRow } from '../store/events/read.ts'
import type { Isolation } from '../store/quarantine/isolation.ts'
import { Coverage } from './coverage.ts'
import { Feed } from './feed.ts'
import { Listener, type StreamItem } from './listener.ts'
import { settled } from './settled.ts'

export interface EventsOptions {
  database: Database
  logger: Logger
  isolation?: Isolation
  /** A stream of the tenant opens; what it answers is called when that closes. Throws QUOTA_EXCEEDED. */
  openStream?: (tenant: string) => () => void
  /** Streams that may be open at this node, and of one tenant. */
  most?: number
  mostOfTenant?: number
}

export interface Listening {
  tenant: string
  /** The last event that was seen; null: from now on. */
  after: number | null
  wants: (event: EventRow) => boolean
  /** Null: until the listener disconnects. */
  waitMs: number | null
  /** Aborted when the listener disconnects: from then on it does not count. */
  signal: AbortSignal
}

export class Events implements Service {
  readonly #options: EventsOptions
  readonly #coverage: Coverage
  readonly #feed: Feed
  /** One for each stream that is open. */
  readonly #streams = new Set<AbortController>()
  #closed = false

  constructor(options: EventsOptions) {
    const { database, logger, isolation } = options
    this.#options = options
    this.#coverage = new Coverage({ database, logger, onRenewed: () => this.#feed.wake() })
    this.#feed = new Feed({ database, logger, isolation, tenants: () => this.#coverage.tenants })
  }

  async start(): Promise<void> {
    await this.#coverage.start()
    await this.#feed.start()
  }

  async stop(): Promise<void> {
    this.close()
    await this.#feed.stop()
    await this.#coverage.stop()
  }

  /** Ends every stream because the node stops. Listeners reconnect to another one. */
  close(): void {
    this.#closed = true
    for (const stream of [...this.#streams]) stream.abort()
  }

  /** Streams that are open here. */
  get open(): number {
    return this.#streams.size
  }

  /** Checks now which tenants still have listeners. */
  renew(): Promise<void> {
    return this.#coverage.renew()
  }

  /** Resolves once every change of the tenant writes its event. Throws TOO_MANY_LISTENERS, RATE_LIMITED or QUOTA_EXCEEDED. */
  async listen(listening: Listening): Promise<AsyncIterable<StreamItem>> {
    const { database } = this.#options
    const { tenant, after, wants, waitMs } = listening
    const signal = this.#admit(tenant, listening.signal)
    const sinceEventId = await this.#coverage.cover(tenant)
    const known = after !== null && after >= sinceEventId && after <= (await readWriters(database)).lastId
    const listener = new Listener({
      ...{ database, feed: this.#feed, coverage: this.#coverage, tenant, wants, signal },
      // Whatever is committed after this has a larger id.
      at: known ? after : await settled(database),
      reset: after !== null && !known,
      until: monotonicMs() + (waitMs ?? Number.POSITIVE_INFINITY),
    })
    return listener.items()
  }

  /** Serves a stream until the listener disconnects or the node stops. */
  #admit(tenant: string, gone: AbortSignal): AbortSignal {
    const { most = 1_000, mostOfTenant = 100 } = this.#options
    const coverage = this.#coverage
    if (this.#closed || gone.aborted) {
      throw new CarillonError('UNAVAILABLE', { message: 'the node is going', hint: 'Ask another' })
    }
    if (this.#streams.size >= most) {
      throw new CarillonError('TOO_MANY_LISTENERS', {
        message: `${most} event streams are open at this node`,
        hint: 'Ask another node, or close some',
      })
    }
    if (coverage.listenersOf(tenant) >= mostOfTenant) {
      throw new CarillonError('RATE_LIMITED', {
        message: `${mostOfTenant} event streams of this tenant are open at this node`,
        hint: 'Close some; one stream carries all events',
      })
    }
    const closed = this.#options.openStream?.(tenant)
    const stream = new AbortController()
    this.#streams.add(stream)
    coverage.enter(tenant)
    stream.signal.addEventListener('abort', () => {
      this.#streams.delete(stream)
      closed?.()
      coverage.leave(tenant)
    })
    gone.addEventListener('abort', () => stream.abort())
    return stream.signal
  }
}
