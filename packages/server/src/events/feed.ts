/**
 * The settled position of the event stream (settled-position.ts) at a node with listeners. They are given what lies between
 * their place and this one, in the order of the ids, so late commits are neither lost nor delivered out of order.
 */
import { type Again, Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import { type EventRow, readBetween, readEventIds, readSince } from '../store/events/read.ts'
import { Isolation } from '../store/quarantine/isolation.ts'
import { eventRow } from '../store/quarantine/set-aside.ts'
import { eventLog } from './event-log.ts'
import { settled } from './settled.ts'
import { SettledPosition } from './settled-position.ts'

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
  readonly #settled: SettledPosition
  readonly #waiting = new Set<() => void>()
  #position: number | null = null
  #step: Step | null = null

  /** `tenants`: those with listeners at this node. While there are none, nothing is read. */
  constructor(options: { database: Database; logger: Logger; tenants: () => string[]; isolation?: Isolation }) {
    const { database, logger, tenants } = options
    this.#isolation = options.isolation ?? new Isolation({ database, logger })
    this.#database = database
    this.#settled = new SettledPosition(eventLog(database))
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
      this.#settled.reset()
      return undefined
    }
    if (this.#position === null) {
      this.#position = await settled(database)
      this.wake()
      return { againInMs: 0 }
    }
    const ahead = await this.#settled.next(this.#position, mostAtOnce)
    if (ahead === 'NOTHING') return undefined
    if (typeof ahead === 'string') return { againInMs: ahead === 'GAP' ? gapMs : pollMs }
    return this.#move(this.#position, ahead.upTo)
  }

  async #move(after: number, upTo: number): Promise<Again> {
    const tenants = this.#tenants()
    const events = await this.#read(tenants, { after, upTo })
    // Where something may be missing nothing is at hand: the listener finds out by itself.
    const byTenant = new Map<string, EventRow[]>()
    for (const [tenant, since] of await readSince(this.#database, tenants)) if (since <= after) byTenant.set(tenant, [])
    for (const event of events) byTenant.get(event.tenant)?.push(event)
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
