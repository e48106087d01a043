/**
 * The settled position of the event stream: an id up to which every event is there or never will be. Listeners are given what lies between
 * their place and this one, in the order of the ids, so late commits are neither lost nor delivered out of order.
 *
 * Ids come from a sequence: they may be committed in another order, or never. Up to the first gap all are there. A gap is
 * closed when its writer has committed, or when no transaction is left that could have taken that id; a transaction that writes no
 * events is not waited for, however long it stays open.
 */
import { type Again, Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import { readWriters } from '../store/events/listeners.ts'
import { type EventRow, readAhead, readBetween, readEventIds, readSince } from '../store/events/read.ts'
import { Isolation } from '../store/quarantine/isolation.ts'
import { eventRow } from '../store/quarantine/set-aside.ts'
import { settled } from './settled.ts'

const pollMs = 100
/** While it waits for a gap to close. */
const gapMs = 10
const mostAtOnce = 2_000

/** The last move: what most listeners are about to ask for, read once for all of them. */
interface Step {
  after: number
  upTo: number
  byTenant: Map<string, EventRow[]>
}

export class Feed implements Service {
  readonly #database: Database
  readonly #tenants: () => string[]
  readonly #loop: Loop
  readonly #isolation: Isolation
  readonly #waiting = new Set<() => void>()
  #position: number | null = null
  #step: Step | null = null
  #gap: { lastId: number; writers: Set<string> } | null = null

  /** `tenants`: those with listeners at this node. While there are none, nothing is read. */
  constructor(options: { database: Database; logger: Logger; tenants: () => string[]; isolation?: Isolation }) {
    const { database, logger, tenants } = options
    this.#isolation = options.isolation ?? new Isolation({ database, logger })
    this.#database = database
    this.#tenants = tenants
    this.#loop = new Loop({ name: 'event feed', everyMs: pollMs, logger, runOnce: () => this.#look() })
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  /** Null: there are no listeners, or the first read is still under way. */
  get position(): number | null {
    return this.#position
  }

  /** What a tenant's listeners at `after` are to get, if it is at hand. */
  stepFrom(tenant: string, after: number): { upTo: number; events: EventRow[] } | null {
    if (this.#step?.after !== after) return null
    const events = this.#step.byTenant.get(tenant)
    return events ? { upTo: this.#step.upTo, events } : null
  }

  /** Resolves when there is something new, after `withinMs`, or when the listener disconnects. */
  news(withinMs: number, gone: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const settle = () => {
        clearTimeout(timer)
        gone.removeEventListener('abort', settle)
        this.#waiting.delete(settle)
        resolve()
      }
      const timer = setTimeout(settle, withinMs)
      gone.addEventListener('abort', settle)
      this.#waiting.add(settle)
      if (gone.aborted) settle()
      else if (this.#position === null) this.#loop.wake()
    })
  }

  /** Wakes all waiting listeners. */
  wake(): void {
    for (const settle of [...this.#waiting]) settle()
  }

  async #look(): Promise<Again | undefined> {
    const database = this.#database
    if (this.#tenants().length === 0) {
      this.#position = null
      this.#step = null
      this.#gap = null
      return undefined
    }
    if (this.#position === null) {
      this.#position = await settled(database)
      this.wake()
      return { againInMs: 0 }
    }
    const { reached, seen } = await readAhead(database, this.#position, mostAtOnce)
    if (reached !== null) return this.#move(this.#position, reached)
    return seen === null ? undefined : this.#closeGap(this.#position)
  }

  async #closeGap(position: number): Promise<Again> {
    const { lastId, writers } = await readWriters(this.#database)
    const now = new Set(writers)
    this.#gap = this.#gap
      ? { lastId: this.#gap.lastId, writers: this.#gap.writers.intersection(now) }
      : { lastId, writers: now }
    if (this.#gap.writers.size > 0) return { againInMs: gapMs }
    // An id that the sequence has not given out was written by hand; it is delivered when the sequence gets there.
    if (this.#gap.lastId <= position) {
      this.#gap = null
      return { againInMs: pollMs }
    }
    return this.#move(position, Math.min(this.#gap.lastId, position + mostAtOnce))
  }

  async #move(after: number, upTo: number): Promise<Again> {
    const tenants = this.#tenants()
    const events = await this.#read(tenants, { after, upTo })
    // Where something may be missing nothing is at hand: the listener finds out by itself.
    const byTenant = new Map<string, EventRow[]>()
    for (const [tenant, since] of await readSince(this.#database, tenants)) if (since <= after) byTenant.set(tenant, [])
    for (const event of events) byTenant.get(event.tenant)?.push(event)
    this.#gap = null
    this.#step = { after, upTo, byTenant }
    this.#position = upTo
    this.wake()
    return { againInMs: 0 }
  }

  async #read(tenants: string[], range: { after: number; upTo: number }): Promise<EventRow[]> {
    const { answers, stoppedBy } = await this.#isolation.runRead('read of events', {
      all: () => readBetween(this.#database, tenants, range),
      read: () => readEventIds(this.#database, range),
      work: (only) => readBetween(this.#database, tenants, range, only),
      rowOf: eventRow,
    })
    if (stoppedBy) throw stoppedBy.error
    return answers.flat()
  }
}
