/**
 * Which tenants are listened to at this node, made known to every writer. What must stay true: from the moment
 * a stream is opened, no change of its tenant is committed without its event; and where that cannot be said (this node was
 * away until its registration expired), the tenant's streams are told.
 *
 * A tenant stays listened to for some minutes after its last listener: a listener that reconnects finds what it missed.
 */
import { Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import { confirmListening, listenTo } from '../store/events/listeners.ts'
import { settled } from './settled.ts'

const forMs = 5 * 60_000
const renewEveryMs = 60_000
/** Longer than a change may take from asking who listens to its end. */
const marginMs = 30_000

interface Covered {
  listeners: number
  /** Events are complete after this one, as far as this node knows. */
  sinceEventId: number
}

export class Coverage implements Service {
  readonly #database: Database
  readonly #onRenewed: () => void
  readonly #covered = new Map<string, Covered>()
  readonly #loop: Loop

  constructor({ database, logger, onRenewed }: { database: Database; logger: Logger; onRenewed: () => void }) {
    this.#database = database
    this.#onRenewed = onRenewed
    this.#loop = new Loop({ name: 'event coverage', everyMs: renewEveryMs, logger, runOnce: () => this.renew() })
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  get tenants(): string[] {
    return [...this.#covered.keys()]
  }

  listenersOf(tenant: string): number {
    return this.#covered.get(tenant)?.listeners ?? 0
  }

  /** A listener positioned before this event may have missed some. */
  sinceOf(tenant: string): number {
    return this.#covered.get(tenant)?.sinceEventId ?? 0
  }

  enter(tenant: string): void {
    const covered = this.#covered.get(tenant)
    if (covered) covered.listeners++
    else this.#covered.set(tenant, { listeners: 1, sinceEventId: 0 })
  }

  leave(tenant: string): void {
    const covered = this.#covered.get(tenant)!
    if (--covered.listeners === 0) this.#covered.delete(tenant)
  }

  /** Resolves once every change of the tenant writes its event, with the event after which that is so. */
  async cover(tenant: string): Promise<number> {
    const [since] = await this.#cover([tenant])
    return since!
  }

  /** Renews this node's registration for some minutes. */
  async renew(): Promise<void> {
    if (this.#covered.size === 0) return
    await this.#cover(this.tenants)
    this.#onRenewed()
  }

  async #cover(tenants: string[]): Promise<number[]> {
    const heard = await listenTo(this.#database, tenants, { forMs, marginMs })
    const begun = heard.filter(({ sinceEventId }) => sinceEventId === null).map(({ tenant }) => tenant)
    if (begun.length > 0) {
      // Transactions under way may not know of the listener yet.
      await settled(this.#database)
      heard.push(...(await confirmListening(this.#database, begun)))
    }
    const known = heard.filter(({ sinceEventId }) => sinceEventId !== null)
    for (const { tenant, sinceEventId } of known) {
      const covered = this.#covered.get(tenant)
      if (covered) covered.sinceEventId = sinceEventId!
    }
    return known.map(({ sinceEventId }) => sinceEventId!)
  }
}
