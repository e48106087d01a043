/**
 * How far a log can be read: up to an id below which every row is there or never will be.
 *
 * Ids come from a sequence: they may be committed in another order, or never. Up to the first gap all are there. A gap is
 * closed when its writer has committed, or when no transaction is left that could have taken that id; a transaction that does not
 * write to the log is not waited for, however long it stays open.
 */

/** Rows with ids from a sequence. */
export interface Log {
  /** How far the ids after `after` follow each other without a gap, and how far there are any, of the next `limit`. */
  readAhead(after: number, limit: number): Promise<{ reached: number | null; seen: number | null }>
  /** The newest id that was given out, then who may still write one up to it. */
  readWriters(): Promise<{ lastId: number; writers: string[] }>
}

/**
 * NOTHING: no row lies after the position. GAP: one does, and something may still come before it. FOREIGN: its id was written by
 * hand.
 */
export type Ahead = { upTo: number } | 'NOTHING' | 'GAP' | 'FOREIGN'

export class SettledPosition {
  readonly #log: Log
  /** Known to be settled, from the last gap that was closed. */
  #settledUpTo = 0
  #gap: { lastId: number; writers: Set<string> } | null = null

  constructor(log: Log) {
    this.#log = log
  }

  /** Forgets a gap that was being waited for: the caller goes on from elsewhere. */
  reset(): void {
    this.#gap = null
  }

  /** From a settled position, the next one, with at most `limit` rows between. */
  async next(after: number, limit: number): Promise<Ahead> {
    const { reached, seen } = await this.#log.readAhead(after, limit)
    if (reached !== null) return this.#reached(reached)
    if (seen === null) return 'NOTHING'
    if (this.#settledUpTo <= after) {
      const { lastId, writers } = await this.#log.readWriters()
      const now = new Set(writers)
      this.#gap = this.#gap
        ? { lastId: this.#gap.lastId, writers: this.#gap.writers.intersection(now) }
        : { lastId, writers: now }
      if (this.#gap.writers.size > 0) return 'GAP'
      this.#settledUpTo = this.#gap.lastId
      this.#gap = null
      // An id that the sequence has not given out was written by hand; it is read when the sequence gets there.
      if (this.#settledUpTo <= after) return 'FOREIGN'
    }
    return this.#reached(Math.min(this.#settledUpTo, seen))
  }

  #reached(upTo: number): Ahead {
    this.#gap = null
    return { upTo }
  }
}
