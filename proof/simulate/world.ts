/**
 * Virtual time. Everything that happens is an event of one queue; the world takes the next one, sets the clock to it, runs
 * it, and lets every promise that follows from it settle before it takes another. As nothing else resolves a promise, the
 * same seed gives the same run.
 *
 * Every event has an owner, passed on from whoever makes it (by AsyncLocalStorage): so a crash can take back what a node
 * still had to do, and each owner can have a clock of its own.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import { type Event, EventQueue } from './event-queue.ts'
import { Owner } from './owner.ts'

// Before anything replaces it. Runs when no promise is left to settle; a turn of the event loop would, too, at 5 % of a run.
const whenSettled = process.nextTick

export class World {
  readonly root: Owner
  readonly #queue = new EventQueue()
  readonly #current = new AsyncLocalStorage<Owner>()
  readonly #digest = createHash('sha256')
  #now: number
  #order = 0
  #events = 0

  constructor(startAt: number) {
    this.#now = startAt
    this.root = new Owner('world', null, startAt)
  }

  /** The installation's time: the database's clock. */
  get now(): number {
    return this.#now
  }

  get events(): number {
    return this.#events
  }

  get owner(): Owner {
    return this.#current.getStore() ?? this.root
  }

  spawn(name: string, parent: Owner | null = null): Owner {
    return new Owner(name, parent, this.#now)
  }

  as<T>(owner: Owner, work: () => T): T {
    return this.#current.run(owner, work)
  }

  /** Runs `run` after so long, for whoever asks or for `owner`. */
  later(delayMs: number, run: () => unknown, owner: Owner = this.owner): Event {
    return this.#put(delayMs, run, owner, false)
  }

  /** Something outside of the world's time: nothing else happens until it is over. */
  outside(delayMs: number, work: () => Promise<void>): Event {
    return this.#put(delayMs, work, this.root, true)
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.later(delayMs, resolve))
  }

  goOn(owner: Owner): void {
    for (const event of owner.goOn()) {
      event.at = this.#now
      event.order = this.#order++
      this.#queue.put(event)
    }
  }

  /** What the owner's monotonic clock says. */
  timeOf(owner: Owner): number {
    const clock = owner.parent ?? owner
    return this.#now + clock.offsetMs + (this.#now - clock.bornAt) * clock.drift
  }

  wallTimeOf(owner: Owner): number {
    return this.timeOf(owner) + (owner.parent ?? owner).wallOffsetMs
  }

  /** Takes part in the digest of the run. */
  note(what: string): void {
    this.#digest.update(`${this.#now} ${this.owner.name} ${what}\n`)
  }

  digest(): string {
    return this.#digest.copy().digest('hex').slice(0, 16)
  }

  /** Until that is so, or nothing is left to happen. */
  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const event = this.#queue.take()
      if (event === null) return
      if (event.cancelled || event.owner.isGone) continue
      if (event.owner.isStopped) {
        event.owner.held.push(event)
        continue
      }
      if (event.at > this.#now) this.#now = event.at
      this.#events++
      if (event.outside) await this.as(event.owner, event.run)
      else this.as(event.owner, event.run)
      await new Promise((resolve) => whenSettled(resolve))
    }
  }

  #put(delayMs: number, run: () => unknown, owner: Owner, outside: boolean): Event {
    const at = this.#now + Math.max(0, delayMs)
    const event = { at, order: this.#order++, owner, run, outside, cancelled: false }
    this.#queue.put(event)
    return event
  }
}
