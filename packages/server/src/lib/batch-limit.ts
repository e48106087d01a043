/**
 * How large a batch may be. When the database is so slow that a batch runs into the statement timeout, the next one is
 * half as large: small batches go through where a large one would fail for ever. It grows back when things go well.
 */
export class BatchLimit {
  readonly #most: number
  #current: number

  constructor(most: number) {
    this.#most = most
    this.#current = most
  }

  get current(): number {
    return Math.ceil(this.#current)
  }

  /** The last batch was too large: at most this many next time. */
  lower(most: number): void {
    this.#current = Math.max(1, Math.min(this.#current, most))
  }

  /** Runs what writes a batch, and learns from how it went. */
  async watch<T>(write: () => Promise<T>, wasTooSlow: (error: unknown) => boolean): Promise<T> {
    try {
      const answer = await write()
      this.#current = Math.min(this.#most, this.#current * 1.1)
      return answer
    } catch (error) {
      if (wasTooSlow(error)) this.#current = Math.max(1, this.#current / 2)
      throw error
    }
  }
}
