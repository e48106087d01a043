/**
 * Writes together what arrives together. A batch goes out as soon as the one before it has been answered, with all that
 * was added meanwhile: no waiting when idle, large batches under load. Each caller gets its own answer.
 */
export interface BatcherOptions<Item, Answer> {
  /** Asked before each batch. */
  maxItems: () => number
  /** Batches that may be under way at once. */
  concurrency?: number
  /** Answers in the order of the items. Throwing rejects every item of the batch. */
  flush: (items: Item[]) => Promise<Answer[]>
}

interface Entry<Item, Answer> {
  item: Item
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

export class Batcher<Item, Answer> {
  readonly #options: BatcherOptions<Item, Answer>
  readonly #underWay = new Set<Promise<void>>()
  #entries: Entry<Item, Answer>[] = []
  #scheduled = false

  constructor(options: BatcherOptions<Item, Answer>) {
    this.#options = options
  }

  add(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#entries.push({ item, resolve, reject })
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

  #schedule(): void {
    if (this.#scheduled || this.#underWay.size >= this.#concurrency) return
    this.#scheduled = true
    // After the current turn of the event loop: what it brings goes out together.
    setImmediate(() => {
      this.#scheduled = false
      this.#send()
    })
  }

  #send(): void {
    if (this.#entries.length === 0 || this.#underWay.size >= this.#concurrency) return
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
      batch.forEach((entry, i) => {
        entry.resolve(answers[i]!)
      })
    } catch (error) {
      for (const entry of batch) entry.reject(error)
    }
  }
}
