/**
 * Bisects a failing batch so that only the bad items fail: it is cut in two, and the halves again, until a bad item is alone; the
 * rest is done. A batch of n with one bad item costs about 2 log n calls more.
 */
export interface Bisected<Item, Answer> {
  /** What was done, in parts, each with its answer. */
  done: { items: Item[]; answer: Answer }[]
  /** Each fails by itself. */
  bad: { item: Item; error: unknown }[]
  /** Not tried, because of `stoppedBy`. */
  left: Item[]
  /** Null: everything was tried. */
  stoppedBy: { error: unknown } | null
}

export interface BisectOptions<Item, Answer> {
  work: (items: Item[]) => Promise<Answer>
  /** Whether an error may be one item's own. Any other error stops the search. */
  isOwn: (error: unknown) => boolean
  /** Asked after each item found bad; true stops the search. */
  enough?: (error: unknown) => boolean
  /** Called with each part that was done. */
  onDone?: () => void
}

export async function bisect<Item, Answer>(
  items: Item[],
  options: BisectOptions<Item, Answer>,
): Promise<Bisected<Item, Answer>> {
  const { work, isOwn, enough, onDone } = options
  const found: Bisected<Item, Answer> = { done: [], bad: [], left: [], stoppedBy: null }
  const parts = items.length === 0 ? [] : [items]
  while (parts.length > 0) {
    const part = parts.pop()!
    try {
      found.done.push({ items: part, answer: await work(part) })
      onDone?.()
    } catch (error) {
      if (!isOwn(error)) return stopped(found, [part, ...parts], error)
      if (part.length > 1) {
        const half = Math.ceil(part.length / 2)
        parts.push(part.slice(half), part.slice(0, half))
        continue
      }
      found.bad.push({ item: part[0]!, error })
      if (enough?.(error) && parts.length > 0) return stopped(found, parts, error)
    }
  }
  return found
}

function stopped<Item, Answer>(found: Bisected<Item, Answer>, parts: Item[][], error: unknown) {
  return { ...found, left: parts.flat(), stoppedBy: { error } }
}
