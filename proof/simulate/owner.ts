/**
 * Whose an event is: a node, the thread inside it, a worker, a client, or the world itself. What an owner begins is its
 * own; when it is gone nothing of it ever happens again, and while it is stopped all of it waits.
 */
import type { Event } from './event-queue.ts'

export class Owner {
  readonly name: string
  readonly parent: Owner | null
  readonly children: Owner[] = []
  readonly bornAt: number
  /** Events that came while it was stopped. */
  held: Event[] = []
  /** Its clock: so far from the world's, and by so much faster; its wall clock is further off. */
  offsetMs = 0
  drift = 0
  wallOffsetMs = 0
  #gone = false
  #stopped = 0
  #onGone = new Set<() => void>()

  constructor(name: string, parent: Owner | null, bornAt: number) {
    this.name = name
    this.parent = parent
    this.bornAt = bornAt
    parent?.children.push(this)
  }

  get isGone(): boolean {
    return this.#gone || (this.parent?.isGone ?? false)
  }

  get isStopped(): boolean {
    return this.#stopped > 0 || (this.parent?.isStopped ?? false)
  }

  /** Called once when it is gone; answers how to take that back. */
  onGone(listener: () => void): () => void {
    this.#onGone.add(listener)
    return () => this.#onGone.delete(listener)
  }

  end(): void {
    if (this.#gone) return
    this.#gone = true
    this.held = []
    for (const listener of this.#onGone) listener()
    for (const child of this.children) child.end()
  }

  stop(): void {
    this.#stopped++
  }

  /** Answers what waits no longer, its own and its children's. */
  goOn(): Event[] {
    if (this.#stopped > 0) this.#stopped--
    return this.isStopped ? [] : this.#release()
  }

  #release(): Event[] {
    const { held } = this
    this.held = []
    return [...held, ...this.children.filter((child) => !child.isStopped).flatMap((child) => child.#release())]
  }
}
