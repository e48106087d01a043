/**
 * Where to read a lane of `ready` from. Rows that were leased but not yet vacuumed lie at the front of the index; a
 * reader that always starts at the first tag walks over all of them. So it starts at the tag it had reached a moment
 * ago; not at the tag it has reached now, because another tenant's rows with smaller tags may be committing just then.
 *
 * What must stay true: no row stays unread for long. A writer's hint lowers the position to its smallest tag; once a
 * second the reading starts at the position of five seconds ago; at the start and once a minute at the very beginning.
 */
const recentMs = 100
const catchUpEveryMs = 1_000
const catchUpBackMs = 5_000
const fullEveryMs = 60_000

export class ReadyPosition {
  #reached = 0
  /** Positions of the last seconds, oldest first. */
  #marks: { at: number; tag: number }[] = []
  #caughtUpAt = Number.NEGATIVE_INFINITY
  #readAllAt = Number.NEGATIVE_INFINITY

  /** The tag to read from, now. */
  from(now: number): number {
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

  /** Rows up to this tag were leased. */
  reached(tag: number, now: number): void {
    if (tag <= this.#reached) return
    this.#reached = tag
    const last = this.#marks.at(-1)
    if (last && now - last.at < recentMs / 2) return
    this.#marks.push({ at: now, tag })
    while (this.#marks.length > 2 && this.#marks[1]!.at <= now - catchUpBackMs) this.#marks.shift()
  }

  /** Somebody wrote a row with this tag. */
  lower(tag: number): void {
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
