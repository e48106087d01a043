/**
 * Writes together what arrives together. A batch goes out as soon as the one before it has been answered, with all that
 * was added meanwhile: no waiting when idle, large batches under load. Each caller gets its own answer.
 */
export interface BatcherOptions<Item, Answer> {
  /** Asked before each batch. */
  maxItems: () => number
  /** Batches that may be under way at once. */
  concurrency?: number
  /** A second batch is flushed in parallel only if it has this many items: fewer cost less in one batch. */
  besideItems?: number
  /** For what is in no hurry: how long to wait for more. */
  gatherMs?: number
  /** Answers in the order of the items. Throwing rejects every item of the batch. */
  flush: (items: Item[]) => Promise<Answer[]>
}

/** What one caller added, and what it waits for. */
interface Group<Answer> {
  answers: Answer[]
  left: number
  resolve: (answers: Answer[]) => void
  reject: (error: unknown) => void
}

interface Entry<Item, Answer> {
  item: Item
  group: Group<Answer>
  at: number
}

export class Batcher<Item, Answer> {
  readonly #options: BatcherOptions<Item, Answer>
  readonly #underWay = new Set<Promise<void>>()
  #entries: Entry<Item, Answer>[] = []
  #scheduled = false

  constructor(options: BatcherOptions<Item, Answer>) {
    this.#options = options
  }

  async add(item: Item): Promise<Answer> {
    return (await this.addAll([item]))[0]!
  }

  /** Several at once, which may go out apart. Answers in their order; rejects if one of them fails. */
  addAll(items: readonly Item[]): Promise<Answer[]> {
    if (items.length === 0) return Promise.resolve([])
    return new Promise((resolve, reject) => {
      const group = { answers: [], left: items.length, resolve, reject }
      for (const [at, item] of items.entries()) this.#entries.push({ item, group, at })
      this.#schedule()
    })
  }

  /** Sends what is left and resolves once everything added so far has been answered. */
  async idle(): Promise<void> {
    while (this.#entries.length > 0 || this.#underWay.size > 0) {
      if (this.#underWay.size < this.#concurrency) this.#send()
      await Promise.race(this.#underWay)
    }
  }

  get #concurrency(): number {
    return this.#options.concurrency ?? 1
  }

  #maySend(): boolean {
    if (this.#underWay.size === 0) return true
    return this.#underWay.size < this.#concurrency && this.#entries.length >= (this.#options.besideItems ?? 1)
  }

  #schedule(): void {
    if (this.#scheduled || !this.#maySend()) return
    this.#scheduled = true
    const send = () => {
      this.#scheduled = false
      this.#send()
    }
    const { gatherMs } = this.#options
    // After the current turn of the event loop: what it brings goes out together.
    if (gatherMs === undefined) setImmediate(send)
    else setTimeout(send, gatherMs)
  }

  #send(): void {
    if (this.#entries.length === 0 || !this.#maySend()) return
    const batch = this.#entries.splice(0, this.#options.maxItems())
    const sent = this.#flush(batch).finally(() => {
      this.#underWay.delete(sent)
      if (this.#entries.length > 0) this.#schedule()
    })
    this.#underWay.add(sent)
    if (this.#entries.length > 0) this.#schedule()
  }

  async #flush(batch: Entry<Item, Answer>[]): Promise<void> {
    try {
      const answers = await this.#options.flush(batch.map((entry) => entry.item))
      for (const [i, { group, at }] of batch.entries()) {
        group.answers[at] = answers[i]!
        if (--group.left === 0) group.resolve(group.answers)
      }
    } catch (error) {
      for (const { group } of batch) group.reject(error)
    }
  }
}
