/**
 * Where to read a lane of `ready` from. Rows that were leased but not yet vacuumed lie at the front of the index; a
 * reader that always starts at the first tag walks over all of them. So it starts at the tag it had reached a moment
 * ago; not at the tag it has reached now, because another tenant's rows with smaller tags may be committing just then.
 *
 * What must stay true: no row stays unread for long. A writer's hint lowers the position to its smallest tag; every two
 * seconds the reading starts at the position of six seconds ago; at the start and once a minute at the very beginning.
 * What such a look back finds and has no room for is read next.
 *
 * Each look back walks over dead rows, which cannot be vacuumed while a transaction stays open. [m] Whole lives with a
 * snapshot held: 7 entries of the index a lease; 10 when it was 100 ms back each time, and five seconds every second.
 */
const recentMs = 25
const catchUpEveryMs = 2_000
const catchUpBackMs = 6_000
const fullEveryMs = 60_000

export class ReadyPosition {
  #reached = 0
  /** Positions of the last seconds, oldest first. */
  #marks: { at: number; tag: number }[] = []
  #caughtUpAt = Number.NEGATIVE_INFINITY
  #readAllAt = Number.NEGATIVE_INFINITY
  /** The smallest tag written since the last read began. */
  #hinted = Number.POSITIVE_INFINITY

  /** The tag to read from, now. */
  from(now: number): number {
    // Only now: a read that was under way when the hint came did not see the row, however far it got.
    this.#goBack(this.#hinted)
    this.#hinted = Number.POSITIVE_INFINITY
    if (now - this.#readAllAt >= fullEveryMs) {
      this.#readAllAt = now
      this.#caughtUpAt = now
      return 0
    }
    if (now - this.#caughtUpAt >= catchUpEveryMs) {
      this.#caughtUpAt = now
      return this.#at(now - catchUpBackMs)
    }
    return this.#at(now - recentMs)
  }

  /** The same for a look that takes one row only: what `from` goes back for is left to the next one. */
  nearby(now: number): number {
    return this.#at(now - recentMs)
  }

  /** Rows up to this tag were leased. */
  reached(tag: number, now: number): void {
    // A look back ended below the position: there may be more of what it found.
    if (tag < this.#at(now - recentMs)) this.#goBack(tag)
    if (tag <= this.#reached) return
    this.#reached = tag
    const last = this.#marks.at(-1)
    if (last && now - last.at < recentMs / 2) return
    this.#marks.push({ at: now, tag })
    while (this.#marks.length > 2 && this.#marks[1]!.at <= now - catchUpBackMs) this.#marks.shift()
  }

  /** A row with this tag was written. */
  lower(tag: number): void {
    this.#hinted = Math.min(this.#hinted, tag)
  }

  #goBack(tag: number): void {
    if (tag >= this.#reached) return
    this.#reached = tag
    for (const mark of this.#marks) mark.tag = Math.min(mark.tag, tag)
  }

  #at(time: number): number {
    for (let i = this.#marks.length - 1; i >= 0; i--) {
      if (this.#marks[i]!.at <= time) return Math.min(this.#marks[i]!.tag, this.#reached)
    }
    return 0
  }
}
