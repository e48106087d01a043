/**
 * Lets requests through to the database, so many at a time. Tenants take turns, and none has more than half of the places:
 * whoever sends thousands of requests at once waits for himself, and neither the others nor the node's own work do.
 */
import { CarillonError } from '@carillon/contract'

interface Line {
  inside: number
  waiting: (() => void)[]
}

export class Turnstile {
  readonly #places: number
  readonly #mostWaiting: number
  /** Who is inside or waits, the one whose turn is next first. */
  readonly #lines = new Map<string, Line>()
  #inside = 0
  #waiting = 0

  constructor({ places, mostWaiting }: { places: number; mostWaiting: number }) {
    this.#places = places
    this.#mostWaiting = mostWaiting
  }

  /** Does the work when it is the tenant's turn. Throws RATE_LIMITED if too many of its requests wait already. */
  async pass<T>(tenant: string, work: () => Promise<T>): Promise<T> {
    const entered = this.enter(tenant)
    const leave = entered instanceof Promise ? await entered : entered
    try {
      return await work()
    } finally {
      leave()
    }
  }

  /** Takes a place, at once or when it is the tenant's turn; the function gives it back. Throws RATE_LIMITED as `pass` does. */
  enter(tenant: string): (() => void) | Promise<() => void> {
    const line = this.#lines.get(tenant) ?? { inside: 0, waiting: [] }
    this.#lines.set(tenant, line)
    const leave = once(() => this.#leave(tenant, line))
    if (this.#hasPlace(line)) {
      this.#enter(line)
      return leave
    }
    if (line.waiting.length < this.#mostWaiting) {
      this.#waiting++
      return new Promise<void>((enter) => line.waiting.push(enter)).then(() => leave)
    }
    throw new CarillonError('RATE_LIMITED', {
      message: `${line.waiting.length} requests of this tenant wait at this node already`,
      hint: 'Wait for the seconds in Retry-After; send fewer at the same time',
    })
  }

  #hasPlace(line: Line): boolean {
    return this.#inside < this.#places && line.inside < this.#places / 2
  }

  #enter(line: Line): void {
    line.inside++
    this.#inside++
  }

  #leave(tenant: string, line: Line): void {
    line.inside--
    this.#inside--
    if (line.inside === 0 && line.waiting.length === 0) this.#lines.delete(tenant)
    if (this.#waiting === 0) return
    for (const [next, others] of this.#lines) {
      if (others.waiting.length === 0 || !this.#hasPlace(others)) continue
      this.#enter(others)
      this.#waiting--
      // To the end: it is the others' turn now.
      this.#lines.delete(next)
      this.#lines.set(next, others)
      others.waiting.shift()!()
      return
    }
  }
}

function once(work: () => void): () => void {
  let done = false
  return () => {
    if (!done) work()
    done = true
  }
}
